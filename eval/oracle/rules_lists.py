"""Pages that show a part at a time: tabs, folded sections, menus, trees, pages of results."""

import re

from .plan import click, click_at, find, first, hover, keys, put, wait
from .registry import rule
from .seeking import DOWN, MOST_TURNS, TOP, seek


@rule(r'^(?:Switch between the tabs|Expand the sections below,) to find and click on the link "(.+)"')
def link_behind_tabs(match, page):
    titles = [item.name for item in page.all("tab")]
    for title in [None, *titles]:
        if title is not None and not page.named(title, "tab").on("expanded"):
            page = yield [click(page.named(title, "tab")), wait(400)]
        wanted = [item for item in page.items if item.name == match[1] and item.role != "tab"]
        if wanted:
            return [click(wanted[0])]
    raise LookupError(f"no section holds {match[1]}")


@rule(r"^Expand the section below and click submit")
def section(_, page):
    if not page.all("tab", expanded=True):
        page = yield [click(page.one("tab")), wait(400)]
    # What is called Submit may be a wider header around the button.
    page = yield [find("button")]
    box = first(element["box"] for element in page.read["elements"] if element["text"] == "Submit")
    return [click_at(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)]


@rule(r'^Click the "Menu" button, and then find and click on the item (?:labeled "(.+)"|with the icon)')
def menu_of_icons(match, page):
    page = yield [click(page.named("Menu", "button"))]
    wanted = match[1]
    opened = set()
    for _ in range(MOST_TURNS):
        if wanted:
            item = page.one("menuitem", wanted)
        else:
            page = yield [find('[class*="icon-"]', "class")]
            shown = [element for element in page.read["elements"] if element["visible"] and element.get("box")]
            # The one above the menu is that of the utterance.
            asked = min(shown, key=lambda element: element["box"]["y"])["attributes"]["class"]
            alike = [one for one in shown[1:] if asked.split()[-1] in one["attributes"]["class"].split()]
            item = page.by_id.get(alike[0]["nearest"]) if alike else None
        if item:
            return [click(item)]
        closed = [one for one in page.all("menuitem") if one.states.get("haspopup") and one.id not in opened]
        if not closed:
            break
        opened.add(closed[0].id)
        page = yield [hover(closed[0]), wait(400)]
    raise LookupError("the item is in no menu")


@rule(r"^Select ([\w-]+(?:>[\w-]+)*)$")
def menu(match, page):
    *parents, last = match[1].split(">")
    for name in parents:
        page = yield [hover(page.all("menuitem", name)[-1]), wait(400)]
    return [click(page.all("menuitem", last)[-1])]


@rule(r'^Navigate through the file tree\. Find and click on the folder or file named "(.+)"')
def tree(match, page):
    opened = set()
    for _ in range(MOST_TURNS):
        wanted = [item for item in page.items if item.name == match[1]]
        if wanted:
            return [click(wanted[-1])]
        folder = first(item for item in page.all("generic") if item.name and item.id not in opened)
        opened.add(folder.id)
        page = yield [click(folder)]
    return []


@rule(r"^Find (\S+) in the contact book and click on their (address|email|phone)")
def contact(match, page):
    for _ in range(MOST_TURNS):
        heading = next((line.text for line in page.lines if line.raw.lstrip().startswith("- h2")), "")
        if heading == match[1]:
            label = first(line for line in page.lines if line.text.lower().startswith(match[2]) and line.ids)
            return [click(page.by_id[label.ids[0]])]
        page = yield [click(page.named(">", "link"))]
    return []


@rule(r'^Use the textbox to enter "(.+)" and press "Search", then find and click the (\d+)')
def nth_result(match, page):
    page = yield [put(page.fields[0], match[1]), click(page.named("Search", "button"))]
    left = int(match[2])
    for _ in range(MOST_TURNS):
        results = [item for item in page.all("link") if not re.fullmatch(r"\d+|[<>]|First|Last|Previous|Next", item.name)]
        if left <= len(results):
            return [click(results[left - 1])]
        left -= len(results)
        page = yield [click(page.named(">", "link"))]
    return []


@rule(r"^Select (\d\d)/(\d\d)/(\d{4}) as the date")
def date_picker(match, page):
    field = page.fields[0]
    page = yield [click(field)]
    page = yield from pick_date(page, *map(int, match.groups()))
    return [click(page.submit)]


MONTHS = "January February March April May June July August September October November December".split()


def pick_date(page, month: int, day: int, year: int):
    """Turns the pages of an open calendar and clicks a day."""
    for _ in range(MOST_TURNS):
        shown = re.search(rf"({'|'.join(MONTHS)})\D*(\d{{4}})", page.words)
        if not shown:
            # It opens a moment after the click.
            page = yield [wait(200)]
            continue
        apart = (year - int(shown[2])) * 12 + month - 1 - MONTHS.index(shown[1])
        days = [item for item in page.items if item.name == str(day)]
        if apart == 0 and days:
            return (yield [click(days[0])])
        turn = page.named("Next" if apart > 0 else "Prev") if apart else None
        # Days and buttons come a moment after the heading.
        page = yield [click(turn) if turn else wait(200)]
    raise LookupError("no calendar is open" if not shown else "the month does not come")


def is_place(name: str, words: str) -> bool:
    """Whether `Boston, MA (BOS)` is what `BOS` or `Boston, MA` says."""
    return f"({words})" in name or words + " (" in name


@rule(r"^Book the (cheapest|shortest) one-way flight from: (.+) to: (.+) on (\d\d)/(\d\d)/(\d{4})")
def flight(match, page):
    for position, city in enumerate((match[2], match[3])):
        while not is_place(page.fields[position].value, city):
            page = yield [put(page.fields[position], ""), keys(page.fields[position], city)]
            known = {field.id for field in page.fields}
            offers = []
            for _ in range(MOST_TURNS):
                offers = [
                    item
                    for item in page.items
                    if item.id not in known and item.role not in ("button", "textbox") and is_place(item.name, city)
                ]
                if offers:
                    break
                # They are drawn a moment after the last key.
                page = yield [wait(200)]
            if not offers:
                raise LookupError(f"nothing is offered for {city}")
            # The list itself has the words of all its entries.
            page = yield [click(min(offers, key=lambda item: len(item.name)))]
    page = yield [click(page.fields[2])]
    page = yield from pick_date(page, int(match[4]), int(match[5]), int(match[6]))
    page = yield [click(page.named("Search", "button"))]
    offers = {}
    for _ in range(MOST_TURNS):
        before = len(offers)
        lasting = None
        for line in page.lines:
            duration = re.search(r"(\d+)h (\d+)m", line.text)
            lasting = int(duration[1]) * 60 + int(duration[2]) if duration else lasting
            price = re.search(r"\$(\d+)", line.text)
            if price and line.ids and lasting is not None:
                offers[page.by_id[line.ids[0]].name] = (int(price[1]), lasting)
                lasting = None
        if len(offers) == before:
            break
        page = yield [DOWN]
    by = 0 if match[1] == "cheapest" else 1
    best = min(offers, key=lambda name: offers[name][by])
    page = yield [TOP]
    _, button = yield from seek(page, lambda item: item.name == best)
    return [click(button)]
