"""What takes keys: a terminal, a text editor; and games."""

import re

from .plan import click, click_at, find, first, press
from .registry import rule


def typed(words: str) -> list:
    """One step a key, for what has the focus."""
    return [press("Space" if key == " " else key) for key in words]


@rule(r"^Use the terminal below to delete a file (?:that has no file extension|ending with the extension (\.\S+))")
def terminal(match, page):
    page = yield [click(page.items[0]), *typed("ls"), press("Enter")]
    page = yield [find("span.output, .output")]
    files = page.read["elements"][-1]["text"].split()
    ending = match[1]
    name = first(name for name in files if (name.endswith(ending) if ending else "." not in name))
    page = yield [*typed("rm ")]
    return [*typed(name), press("Enter")]


STYLES = {"bold": 0, "italics": 1, "underlined": 2}


@rule(
    r"^Using the text editor, (?:give|make) (everything|the text (\S+)) the (?:style (\w+)|color (\w+))"
)
def editor(match, page):
    _, word, style, colour = match.groups()
    area = first(item for item in page.items if item.control == "richText")
    text = area.value or area.name
    steps = [click(area), press("Control+Home")]
    if word:
        start = re.search(rf"(?:^|\s){re.escape(word)}(?=\s|$)", text)
        at = start.start() + (1 if text[start.start()].isspace() else 0)
        steps += [press("ArrowRight")] * at + [press("Shift+ArrowRight")] * len(word)
    else:
        steps.append(press("Control+A"))
    while steps:
        now, steps = steps[:12], steps[12:]
        page = yield now
    if style:
        buttons = [item for item in page.all("button") if not item.name and item.box[1] < area.box[1]]
        if len(buttons) < 3:
            buttons = [item for item in page.all("button") if item.name != "Submit"]
        page = yield [click(sorted(buttons, key=lambda item: item.box[0])[STYLES[style]])]
        return [click(page.submit)]
    picker = min(page.items, key=lambda item: (item.box[1], item.box[0]))
    page = yield [click(picker)]
    page = yield [find('[class*="picker-item"]', "style")]
    for element in page.read["elements"]:
        box = element.get("box")
        if box and is_shade(element["attributes"]["style"] or "", colour):
            page = yield [click_at(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)]
            return [click(page.submit)]
    raise LookupError(f"no {colour} is offered")


def is_shade(style: str, colour: str) -> bool:
    """Whether a colour is a full shade of one that has a name."""
    parts = re.findall(r"\d+", style)[:3]
    if len(parts) < 3:
        return False
    red, green, blue = map(int, parts)
    return {
        "red": red > 200 and green < 60 and blue < 60,
        "orange": red > 230 and 120 < green < 180 and blue < 60,
        "yellow": red > 230 and green > 230 and blue < 60,
        "green": green > 100 and red < 60 and blue < 60,
        "blue": blue > 150 and red < 60,
        "purple": red > 120 and blue > 200 and green < 100,
    }[colour]


LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


@rule(r"^Playing as 'X', win a game of tic-tac-toe")
def tic_tac_toe(_, page):
    cells = sorted(page.items, key=lambda item: (round(item.box[1] / 10), item.box[0]))
    points = [cell.middle for cell in cells[:9]]
    for _ in range(5):
        page = yield [find("#area span", "class")]
        marks = [element["attributes"]["class"] or "" for element in page.read["elements"]][:9]
        board = ["X" if "-x" in mark else "O" if "-o" in mark else " " for mark in marks]
        if winner(board) or " " not in board:
            break
        yield [click_at(*points[best_move(board)])]
    return []


def winner(board: list) -> str:
    return next((board[a] for a, b, c in LINES if board[a] != " " and board[a] == board[b] == board[c]), "")


def best_move(board: list) -> int:
    """The move that wins most often against an opponent who now and then moves anywhere."""
    return max((at for at in range(9) if board[at] == " "), key=lambda at: value(placed(board, at, "X"), "O"))


def placed(board: list, at: int, mark: str) -> list:
    return [*board[:at], mark, *board[at + 1 :]]


def value(board: list, mover: str) -> float:
    won = winner(board)
    free = [at for at in range(9) if board[at] == " "]
    if won or not free:
        return {"X": 1.0, "O": -1.0, "": -0.5}[won]
    values = [value(placed(board, at, mover), "O" if mover == "X" else "X") for at in free]
    if mover == "X":
        return max(values)
    return 0.45 * min(values) + 0.55 * sum(values) / len(values)
