"""Dragging: shapes, items of lists, sliders, corners, and text that is marked."""

import re

from .page import is_goal
from .plan import click, click_at, drag_points, find, first, press, put
from .registry import rule
from .rules_shapes import drawn, middle, shapes_of

AWAY = {"left": (-25, 0), "right": (25, 0), "up": (0, -25), "down": (0, 25)}
MOST_TURNS = 30


def moved(point: tuple, by: tuple) -> tuple:
    return (point[0] + by[0], point[1] + by[1])


@rule(r"^Drag the (?:circle|item) (left|right|up|down) then press Submit")
def drag_away(match, page):
    page = yield [drawn()]
    start = middle(shapes_of(page)[0]["box"])
    return [drag_points(start, moved(start, AWAY[match[1].lower()])), click(page.submit)]


@rule(r"^Drag all (\w+?)s? (?:shapes )?into the (?:black box|left box, and everything else into the right box)")
def drag_into_boxes(match, page):
    page = yield [drawn()]
    shapes = shapes_of(page)
    boxes = sorted((shape["box"] for shape in shapes if shape["colour"] == "none"), key=lambda box: box[0])
    steps = []
    for shape in shapes:
        if shape["colour"] == "none":
            continue
        wanted = match[1] in (shape["text"], shape["colour"])
        if wanted or len(boxes) > 1:
            steps.append(drag_points(middle(shape["box"]), middle(boxes[0 if wanted else 1])))
    while steps:
        now, steps = steps[:5], steps[5:]
        page = yield now
    return [click(page.submit)]


@rule(r"^Drag the smaller box so that it is completely inside the larger box")
def box_into_box(_, page):
    small, large = sorted(
        (item for item in page.items if item.role == "generic" and item.box[2]), key=lambda item: item.box[2]
    )[:2]
    start = free_point(small.box, large.box)
    apart = moved(start, (-small.middle[0], -small.middle[1]))
    return [drag_points(start, moved(large.middle, apart)), click(page.submit)]


def free_point(box: tuple, cover: tuple) -> tuple:
    """A point of a box that another one does not cover; its middle if all are free."""
    x, y, width, height = box
    points = [(x + width * a, y + height * b) for a in (0.5, 0.15, 0.85) for b in (0.5, 0.15, 0.85)]

    def covered(point):
        return cover[0] <= point[0] <= cover[0] + cover[2] and cover[1] <= point[1] <= cover[1] + cover[3]

    return next((point for point in points if not covered(point)), points[0])


def items_read(page) -> list:
    """Text and box of each item that `find` read."""
    return [
        (element["text"].strip(), tuple(element["box"][side] for side in ("x", "y", "width", "height")))
        for element in page.read["elements"]
        if element.get("box")
    ]


def drop(items: list, start: int, end: int) -> dict:
    """Drags the item at one position of a list to another; a little beyond its middle, so that they swap."""
    source, target = items[start][1], items[end][1]
    way = [(target[side] > source[side]) - (target[side] < source[side]) for side in (0, 1)]
    beyond = (way[0] * target[2] * 0.15, way[1] * target[3] * 0.3)
    return drag_points(middle(source), moved(middle(target), beyond), durationMs=600)


@rule(r"^Drag (\S+) (?:to the (top|bottom)\.|to the (\d)\w\w position|(up|down) by one position)")
def drag_item(match, page):
    name, edge, position, way = match.groups()
    page = yield [find("li")]
    items = items_read(page)
    start = [text for text, _ in items].index(name)
    if edge:
        end = 0 if edge == "top" else len(items) - 1
    elif position:
        end = int(position) - 1
    else:
        end = start + (1 if way == "down" else -1)
    return [drop(items, start, end)]


PLACES = {"top": 0, "center": 1, "bottom": 2, "left": 0, "right": 2}
ONE = {"up": -3, "down": 3, "left": -1, "right": 1}


@rule(r"^Drag (\S+) (?:to the (top|center|bottom)(?: (left|center|right))?|(up|down|left|right) by one)\.")
def drag_in_grid(match, page):
    name, row, column, way = match.groups()
    page = yield [find("li")]
    items = items_read(page)
    start = [text for text, _ in items].index(name)
    end = start + ONE[way] if way else PLACES[row] * 3 + PLACES[column or "center"]
    return [drop(items, start, end)]


@rule(r"^Sort the numbers in increasing order")
def sort(_, page):
    for _ in range(MOST_TURNS):
        page = yield [find("li")]
        items = items_read(page)
        order = sorted(range(len(items)), key=lambda at: int(items[at][0]))
        wrong = next((at for at, index in enumerate(order) if items[index][0] != items[at][0]), None)
        if wrong is None:
            return [click(page.submit)]
        yield [drop(items, order[wrong], wrong)]
    return []


@rule(r"^Resize the textarea so that the (width|height) is (larger|smaller)")
def resize(match, page):
    x, y, width, height = first(item for item in page.fields if item.tag == "textarea").box
    by = 20 if match[2] == "larger" else -20
    corner = (x + width - 5, y + height - 5)
    way = (by, 0) if match[1] == "width" else (0, by)
    return [drag_points(corner, moved(corner, way)), click(page.submit)]


@rule(r"^Highlight the text in the (?:paragraph below|(\d)\w\w paragraph)")
def highlight(match, page):
    page = yield [find("p, div:not(:has(*))")]
    texts = [line.text for line in page.lines if not line.ids and not is_goal(page, line)]
    boxes = [box for text, box in items_read(page) if text and any(alike(text, one) for one in texts)]
    x, y, width, height = boxes[int(match[1] or 1) - 1]
    return [drag_points((x + 1, y + 3), (x + width - 1, y + height - 3)), click(page.submit)]


def alike(one: str, other: str) -> bool:
    return one.replace(" ", "") == other.replace(" ", "")


@rule(r"^Draw a (vertical|horizontal) line that runs through the dot")
def line(match, page):
    page = yield [drawn()]
    dot = middle(shapes_of(page)[0]["box"])
    by = (0, 30) if match[1] == "vertical" else (30, 0)
    return [drag_points(moved(dot, (-by[0], -by[1])), moved(dot, by)), click(page.submit)]


def slide(page, position: int, wanted: int):
    """Sets one of the page's sliders with keys, and a click into its track where it is far."""
    handles = [item for item in page.items if item.role in ("generic", "slider") and not item.name]

    def shown(page):
        lines = [line for line in page.lines if not is_goal(page, line)]
        return [int(text) for line in lines for text in line.texts if re.fullmatch(r"-?\d+", text)][position]

    page = yield [click_at(*handles[position].middle), press("Home")]
    least = shown(page)
    low = first(item for item in page.items if item.id == handles[position].id).middle
    page = yield [press("End")]
    most = shown(page)
    high = first(item for item in page.items if item.id == handles[position].id).middle
    share = (wanted - least) / (most - least)
    page = yield [click_at(*(a + (b - a) * share for a, b in zip(low, high)))]
    for _ in range(MOST_TURNS):
        apart = wanted - shown(page)
        if apart == 0:
            return page
        page = yield [press("ArrowRight" if apart > 0 else "ArrowLeft")] * min(abs(apart), 6)
    raise LookupError("the slider does not stay")


@rule(r"^Select (-?\d+) with the slider and hit Submit")
def slider(match, page):
    page = yield from slide(page, 0, int(match[1]))
    return [click(page.submit)]


@rule(r"^Set the sliders to the combination \[([\d,]+)\]")
def sliders(match, page):
    for position, wanted in enumerate(match[1].split(",")):
        page = yield from slide(page, position, int(wanted))
    return [click(page.submit)]


@rule(r"^Select (-?\d+) with the slider, click the (\d)\w\w checkbox")
def slider_and_box(match, page):
    page = yield from slide(page, 0, int(match[1]))
    return [click(page.all("checkbox")[int(match[2]) - 1]), click(page.submit)]


HALF_HOURS = {"mins": 1 / 30, "hours": 2, "hour": 2}


@rule(r'^Create a ([\d.]+) (mins|hours?) event named "(.+)", between (\d+[AP]M) and (\d+[AP]M)')
def calendar(match, page):
    count = round(float(match[1]) * HALF_HOURS[match[2]])
    first, last = (hour_of(match[at]) * 2 for at in (4, 5))
    for _ in range(MOST_TURNS):
        cells = cells_of(page)
        for start in range(first, last - count + 1):
            run = [cells.get(at) for at in range(start, start + count)]
            if all(cell and not cell.covered and 55 < cell.box[1] < 175 for cell in run):
                x, y, width, _ = run[0].box
                end = run[-1].box
                page = yield [drag_points((x + width / 3, y + 4), (x + width / 2, end[1] + end[3] - 6))]
                name = page.fields[0]
                return [put(name, match[3]), click(page.named("Create", "button"))]
        page = yield [{"type": "scroll", "deltaY": 60}]
    return []


def hour_of(words: str) -> int:
    number, half = int(words[:-2]), words[-2:].lower()
    return number % 12 + (12 if half == "pm" else 0)


def cells_of(page) -> dict:
    """The cells of a day, by half hours since midnight: two for each hour that stands beside them."""
    cells, current = {}, None
    for line in page.lines:
        stated = next((text for text in line.texts if re.fullmatch(r"\d+[ap]m", text)), None)
        if stated:
            current = [hour_of(stated) * 2]
        if current is not None:
            for id in line.ids:
                item = page.by_id.get(id)
                if item and item not in cells.values() and len(current) <= 2:
                    cells[current[0] + len(current) - 1] = item
                    current.append(id)
    return cells
