"""Fields that are filled with what the utterance or the page says."""

import re

from .page import is_goal
from .plan import check, click, find, first, keys, press, put, select
from .registry import rule

ORDINAL = r"(\d+)(?:st|nd|rd|th)"


def submitted(page, *steps):
    """The steps, then a click on the button that submits."""
    return [*steps, click(page.submit or page.named("Login", "button"))]


@rule(r'^(?:Enter|Type) "(.+)" in(?:to the text field| all (upper|lower) case letters in the text input) and press Submit')
def text(match, page):
    words = match[1]
    words = {"upper": words.upper(), "lower": words.lower(), None: words}[match[2]]
    return submitted(page, put(page.fields[0], words))


@rule(r'^Enter the password "(.+)" into both text fields')
def password_twice(match, page):
    return submitted(page, *(put(field, match[1]) for field in page.fields[:2]))


@rule(r'^Enter the username "(.+)" and the password "(.+)" into the text fields and press login')
def login(match, page):
    # What came up over the form is sent away; its other button would leave the page.
    cancel = page.named("Cancel", "button")
    if cancel:
        page = yield [click(cancel)]
    name, password = page.fields[:2]
    button = page.named("Login", "button") or page.all("button")[-1]
    return [put(name, match[1]), put(password, match[2]), click(button)]


@rule(r"^Enter (\d\d)/(\d\d)/(\d{4}) as the date")
def date(match, page):
    month, day, year = match.groups()
    field = page.fields[0]
    if field.control == "dateTime":
        return submitted(page, put(field, f"{year}-{month}-{day}"))
    return submitted(page, put(field, f"{month}/{day}/{year}"))


@rule(r"^Enter (\d+):(\d\d) ([AP])M as the time")
def time(match, page):
    hour = int(match[1]) % 12 + (12 if match[3].upper() == "P" else 0)
    return submitted(page, put(page.fields[0], f"{hour:02}:{match[2]}"))


@rule(r"^Copy the text (?:in|from) the (?:(\d+)\w\w text area|textarea) below")
def copy(match, page):
    sources = [item for item in page.fields if item.tag == "textarea"]
    source = sources[int(match[1] or 1) - 1]
    page = yield [find("textarea", "value")]
    value = page.read["elements"][sources.index(source)]["attributes"]["value"]
    target = [item for item in page.fields if item.tag != "textarea"][-1]
    return submitted(page, put(target, value))


@rule(rf"^Find the {ORDINAL} word in the paragraph")
def nth_word(match, page):
    paragraph = first(line for line in page.lines if not line.ids and not is_goal(page, line))
    words = re.findall(r"\S+", paragraph.text)
    word = re.sub(r"[^A-Za-z]", "", words[int(match[1]) - 1])
    return submitted(page, put(page.fields[0], word))


@rule(r"^Find the last word in the text area")
def last_word(_, page):
    page = yield [find("textarea", "value")]
    text = page.read["elements"][0]["attributes"]["value"]
    field = first(item for item in page.fields if item.tag == "input")
    return submitted(page, put(field, re.sub(r"[^A-Za-z0-9]", "", text.split()[-1])))


@rule(r"^Enter the value of (.+) into the text field")
def value_of(match, page):
    return submitted(page, put(page.fields[0], table_of(page)[match[1]]))


@rule(r"^Enter the value that corresponds with each label")
def values(_, page):
    known = table_of(page)
    steps = []
    for field in page.fields:
        label = (field.name or field.label).strip().rstrip(":")
        steps.append(put(field, known[label]))
    return submitted(page, *steps)


def table_of(page) -> dict:
    """Rows of two cells, as a term and what it says."""
    rows = [line.texts for line in page.lines if line.raw.lstrip().startswith("row") and len(line.texts) == 2]
    return {term.rstrip(":"): value for term, value in rows}


@rule(r"^Solve the math problem")
def arithmetic(_, page):
    problem = re.search(r"(-?\d+)\s*([-+*x×])\s*(-?\d+)\s*=", page.words)
    left, sign, right = int(problem[1]), problem[2], int(problem[3])
    answer = {"+": left + right, "-": left - right}.get(sign, left * right)
    return submitted(page, put(page.fields[0], str(answer)))


@rule(r"^Solve for x")
def algebra(_, page):
    problem = re.search(r"(x|\d+) ([-+]) (x|\d+) = (-?\d+)", page.words)
    left, sign, right, result = problem[1], problem[2], problem[3], int(problem[4])
    if left == "x":
        answer = result - int(right) if sign == "+" else result + int(right)
    else:
        answer = result - int(left) if sign == "+" else int(left) - result
    return submitted(page, put(page.fields[0], str(answer)))


@rule(r"^Type the text below into the text field")
def text_below(_, page):
    shown = first(line.text for line in page.lines if not line.ids and not is_goal(page, line))
    return submitted(page, put(page.fields[0], shown.replace(" ", "")))


@rule(r"^Type the total number of blocks")
def blocks(_, page):
    page = yield [find("#area span:empty")]
    return submitted(page, put(page.fields[0], str(page.read["total"])))


@rule(r"^Search for (\w+) movies directed by (\w+) from year (\d+)")
def movies(match, page):
    genre, director, year = match.groups()
    wanted = {"genre": genre, "director": director, "year": year, "released": year}
    labels = labels_of(page)
    steps = [
        put(field, value)
        for field, label in zip(page.fields, labels)
        for key, value in wanted.items()
        if key in label.lower()
    ]
    return [*steps, click([item for item in page.items if item not in page.fields][-1])]


def labels_of(page) -> list:
    """What stands before each field, or after each where the first field comes first."""
    fields, labels, first = {field.id for field in page.fields}, [], None
    for line in page.lines:
        if is_goal(page, line) or "Search" in line.text:
            continue
        if line.raw.lstrip().startswith("- textbox"):
            first = first or "field"
            if line.ids[0] in fields and line.text and first == "label" and not labels:
                labels.append(line.text)
        elif line.texts:
            first = first or "label"
            labels.append(line.text)
    return labels


@rule(r"^Select (.+) from the (scroll )?list and click Submit")
def from_list(match, page):
    choice = match[1].split(", ") if match[2] else match[1]
    return submitted(page, select(page.one("combobox|listbox"), choice))


@rule(r"^Select (-?\d+) with the spinner")
def spinner(match, page):
    return submitted(page, put(page.one("spinbutton"), match[1]))


@rule(r"^Select (nothing|(?!all the|words similar)[^>]+?) and click Submit")
def options(match, page):
    wanted = [] if match[1] == "nothing" else match[1].split(", ")
    while wanted:
        steps = [check(page.named(name, "radio|checkbox")) for name in wanted[:6]]
        wanted = wanted[6:]
        page = yield steps
    return submitted(page)


@rule(rf'^Check the {ORDINAL} radio button and enter the number "(-?\d+)" into the {ORDINAL} textbox')
def radio_and_number(match, page):
    radio = page.all("radio")[int(match[1]) - 1]
    field = page.fields[int(match[3]) - 1]
    page = yield [click(radio), click(field)]
    return submitted(page, *typed(match[2]))


def typed(words: str) -> list:
    """Keys for the field that has the focus, where it cannot be named."""
    return [press(key) for key in words]


@rule(r"^Choose (.+) from the dropdown, then click the button labeled \"(.+)\"")
def dropdown(match, page):
    opener = first(item for item in page.items if item.role != "button")
    page = yield [click(opener)]
    option = first(item for item in page.items if item.name == match[1])
    page = yield [click(option)]
    return [click(page.named(match[2], "button"))]


@rule(r'^Enter an item that starts with "(.+?)"(?: and ends with "(.+?)")?')
def autocomplete(match, page):
    start, end = match[1], match[2] or ""
    page = yield [keys(page.fields[0], start)]
    for _ in range(4):
        fits = [
            item
            for item in page.items
            if item.role not in ("textbox", "button") and item.name.startswith(start) and item.name.endswith(end)
        ]
        if fits:
            # The list itself begins with its first entry and ends with its last.
            page = yield [click(min(fits, key=lambda item: len(item.name)))]
            return submitted(page)
        page = yield [{"type": "waitForIdle"}]
    raise LookupError("no item fits")


@rule(r"^Generate (?:a number (less|greater) than (\d+)|an (odd|even) number)")
def generate(match, page):
    for turn in range(40):
        shown = next((int(l.text) for l in page.lines if re.fullmatch(r"-?\d+", l.text)), None)
        if shown is not None:
            fits = {"less": lambda n: n < int(match[2]), "greater": lambda n: n > int(match[2])}.get(
                match[1], lambda n: n % 2 == (match[3] == "odd")
            )
            if fits(shown):
                return [click(page.submit)]
        # Elsewhere in the button each time: a plan that comes back unchanged ends the run.
        page = yield [click(page.named("Generate", "button"), position={"x": 10 + turn, "y": 10})]
    return []


@rule(r"^Guess the number between (\d+)-(\d+)")
def guess(match, page):
    low, high = int(match[1]), int(match[2])
    while low <= high:
        middle = (low + high) // 2
        page = yield [put(page.fields[0], str(middle)), click(page.submit)]
        if re.search(r"higher|greater", page.words.replace(page.goal, "")):
            low = middle + 1
        elif re.search(r"lower|less|smaller", page.words.replace(page.goal, "")):
            high = middle - 1
        else:
            return []
    return []


@rule(r'^Scroll to the bottom of the textarea, enter the name "(.+)" then press "(\w+)"')
def agreement(match, page):
    area = first(item for item in page.fields if item.tag == "textarea")
    page = yield [{"type": "scroll", "targetRef": area.id, "direction": "bottom"}]
    field = first(item for item in page.fields if item.tag == "input")
    return [put(field, match[1]), click(page.named(match[2], "button"))]


@rule(r"^Scroll the textarea to the (top|bottom) of the text")
def scroll_area(match, page):
    area = first(item for item in page.fields if item.tag == "textarea")
    return submitted(page, {"type": "scroll", "targetRef": area.id, "direction": match[1].lower()})
