"""Lists of messages and posts, of which one has to be found first; some are out of view."""

import re

from .plan import click, click_at, find, first, into_view, put
from .registry import rule
from .seeking import DOWN, MOST_TURNS, seek


def is_from(sender: str):
    return lambda item: item.name == sender or item.name.startswith(sender + " ")


def act_on_mail(page, sender: str, action: str, about: str):
    """`action` is star, delete, reply or forward; `about` is a text or a receiver."""
    page, row = yield from seek(page, is_from(sender))
    if not row:
        raise LookupError(f"no mail is from {sender}")
    if action in ("star", "delete"):
        page = yield [into_view(row)]
        row = page.by_id[row.id]
        icons = [
            item
            for item in page.items
            if item.role in ("img", "generic") and item.id != row.id and within(item, row) and not item.name
        ]
        icons.sort(key=lambda item: item.box[0])
        # The star stands left of the bin.
        return [click_at(*icons[0 if action == "star" else -1].middle)]
    page = yield [click(row)]
    page = yield [click(page.named(action.capitalize()))]
    field = first(item for item in page.fields if (item.tag == "textarea") == (action == "reply"))
    page = yield [put(field, about)]
    # Of the two pictures above the text, the right one sends.
    icons = [item for item in page.items if item.role in ("img", "generic") and not item.name]
    icons = [item for item in icons if item.box[1] < field.box[1]]
    return [click_at(*max(icons, key=lambda item: item.box[0]).middle)]


def within(inner, outer) -> bool:
    x, y = inner.middle
    left, top, width, height = outer.box
    return left <= x <= left + width and top <= y <= top + height


@rule(r"^Find the email by (\S+) and (click the (star|trash) icon|reply to them with the text \"(.+)\"|forward that email to (\S+)\.$)")
def mail(match, page):
    sender, _, icon, text, receiver = match.groups()
    action = {"star": "star", "trash": "delete"}.get(icon) or ("reply" if text else "forward")
    return (yield from act_on_mail(page, sender, action, text or receiver))


NAME = r"[A-Z][a-z]+(?:-[A-Z][a-z]+)*"
GIVEN = rf"(?:\b(?:by|from|received from)\s+({NAME})|({NAME})'s|({NAME}) (?:sent|wrote|wants (?:his|her)))"


@rule(r"(?:e-?mail|message|mail\b|information|inbox)")
def mail_in_other_words(_, page):
    """Utterances that people wrote: who sent the mail, what to do, and to whom or with what words."""
    goal = page.goal
    quoted = re.search(r'"(.+?)"', goal)
    named = [match for match in re.findall(NAME, goal.replace(quoted[0], "") if quoted else goal)]
    senders = [name for name in dict.fromkeys(named) if any(map(is_from(name), page.items))]
    stated = re.search(GIVEN, goal)
    sender = next(filter(None, stated.groups()), None) if stated else None
    if sender not in senders and senders:
        sender = senders[0]
    others = [name for name in dict.fromkeys(named) if name != sender and not goal.startswith(name + " ")]
    others += [name for name in named if goal.startswith(name + " ") and name != sender and " for" in goal]
    if re.search(r"delete|trash|remove|get rid", goal, re.IGNORECASE):
        action, about = "delete", ""
    elif re.search(r"important|\bstar|favou?rite", goal, re.IGNORECASE):
        action, about = "star", ""
    elif quoted:
        action, about = "reply", quoted[1]
    else:
        receivers = re.findall(rf"(?i:\b(?:to|give|send|forward|for|let))\s+({NAME})\b(?!'s e-?mail)", goal)
        receivers = [name for name in receivers if name != sender]
        action, about = "forward", (receivers or others)[-1]
    return (yield from act_on_mail(page, sender, action, about))


# The pictures under a post, from left to right.
PICTURES = {"reply": 0, "retweet": 1, "like": 2, "more": 3, "share": 3}


def posts_of(page, user: str) -> list:
    """For each post of a user in the page's text, the ids under it."""
    posts, current = [], None
    for line in page.lines:
        if re.search(r"@\w", line.text) and not line.ids and "@" in line.raw and line.text.split("@")[0].strip():
            current = [] if re.search(rf"@{re.escape(user)}\b", line.text) else None
            if re.search(r"^(For the user|Click the)", line.text):
                current = None
            elif current is not None:
                posts.append(current)
        elif current is not None:
            current.extend(id for id in line.ids if id in page.by_id)
    return posts


@rule(r'^For the user @(\S+), click on the "(.+)" button')
def post(match, page):
    user, action = match[1], match[2].lower()
    picture = PICTURES.get(action, PICTURES["more"])
    for _ in range(MOST_TURNS):
        ready = [page.by_id[ids[picture]] for ids in posts_of(page, user) if len(ids) > picture]
        ready = [item for item in ready if item.in_view and not item.covered]
        if ready:
            # Its picture is replaced under the pointer: a first click may find it being loaded.
            if action in PICTURES:
                return [click(ready[0]), click(ready[0])]
            for _ in range(3):
                page = yield [click(ready[0])]
                entries = [item for item in page.items if item.name.lower().startswith(action)]
                if entries:
                    # What is around the entries begins with the first one's words.
                    return [click(min(entries, key=lambda item: len(item.name)))]
            raise LookupError("the menu does not open")
        page = yield [DOWN]
    return []


@rule(r'^Click the "(\w+)" button on (all|\d+) posts? by @(\S+) and then click Submit')
def posts(match, page):
    action, count, user = match[1].lower(), match[2], match[3]
    for _ in range(MOST_TURNS):
        page = yield [find("span", "class")]
        pictures = pictures_of(page.read["elements"], user, action)
        left = (len(pictures) if count == "all" else int(count)) - sum(pressed for _, pressed in pictures)
        ready = [point for point, pressed in pictures if not pressed and 60 < point[1] < 190]
        if left == 0:
            break
        page = yield [click_at(*point) for point in ready[: min(left, 6)]] or [DOWN]
    page, button = yield from seek(page, lambda item: item.role == "button" and item.name == "Submit")
    return [click(button)]


def pictures_of(elements: list, user: str, action: str) -> list:
    """The pictures of one kind under a user's posts: where each is, and whether it is pressed."""
    found, owner = [], None
    for element in elements:
        kinds = (element["attributes"]["class"] or "").split()
        if element["text"].startswith("@"):
            owner = element["text"].strip()
        elif action in kinds and owner == "@" + user and element.get("box"):
            box = element["box"]
            found.append(((box["x"] + box["width"] / 2, box["y"] + box["height"] / 2), "active" in kinds))
    return found


@rule(r"^Order (.+)")
def order(match, page):
    """One of each named dish, or some of a kind: `one of each item: A, B` or `2 items that are vegan`."""
    named = re.search(r"one of each item: (.+)", match[0])
    kind = re.search(r"(\d+) items? that (?:is|are) (.+?)\.?$", match[0])
    wanted = [name.strip() for name in named[1].split(", ")] if named else []
    left = len(wanted) or int(kind[1])
    done = set()
    for _ in range(MOST_TURNS):
        for dish, kinds, plus in dishes(page):
            if dish not in done and (dish in wanted if named else kind[2] in kinds):
                done.add(dish)
                page = yield [click(plus)]
                break
        else:
            page = yield [DOWN]
        if len(done) == left:
            break
    page, button = yield from seek(page, lambda item: item.role == "button" and item.name.startswith("Order"))
    return [click(button)]


def dishes(page):
    """Name, kinds and `+` of each dish, by the lines above it: its name, and the pictures that say its kinds."""
    dish, kinds = "", ()
    for line in page.lines:
        plus = next((page.by_id[id] for id in line.ids if id in page.by_id and page.by_id[id].name == "+"), None)
        if plus:
            yield dish, kinds, plus
        elif "(picture" in line.raw:
            kinds = line.texts
        elif line.texts and not line.ids:
            dish, kinds = line.text.strip(), ()
