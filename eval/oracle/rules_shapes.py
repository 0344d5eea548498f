"""Drawings: shapes are read with their colour and size, and described in the utterance's words."""

import re

from .plan import click, click_at, find, first, wait
from .registry import rule

COLOURS = "red green blue aqua black magenta yellow".split()
SHAPES = {"rect": "rectangle", "circle": "circle", "polygon": "triangle"}


def drawn() -> dict:
    """The step that reads the shapes of a drawing."""
    return find("svg text, svg rect, svg circle, svg polygon", "fill", "font-size", "r", "width", "points")


def shapes_of(page) -> list:
    """What `drawn` read, each as words: kind, text, colour, size."""
    found = []
    for element in page.read["elements"]:
        stated, tag = element["attributes"], element["tag"]
        text = element["text"].strip()
        kind = "shape" if tag in SHAPES else "digit" if text.isdigit() else "letter"
        box = element.get("box") or {"x": 0, "y": 0, "width": 0, "height": 0}
        found.append(
            {
                "kind": kind,
                "text": SHAPES.get(tag, text),
                "colour": stated["fill"],
                "size": "large" if size_of(tag, stated) > 15 else "small",
                "box": (box["x"], box["y"], box["width"], box["height"]),
            }
        )
    return found


def size_of(tag: str, stated: dict) -> float:
    """The height of a shape, as it is drawn."""
    if tag == "polygon":
        across = [float(pair.split(",")[0]) for pair in stated["points"].split()]
        return max(across) - min(across)
    number = {"text": stated["font-size"], "circle": stated["r"], "rect": stated["width"]}[tag] or "0"
    return float(number.removesuffix("px")) * (2 if tag == "circle" else 1)


def fits(shape: dict, words: str) -> bool:
    """Whether a shape is what words such as `small red digit`, `large item` or `blue B` describe."""
    *adjectives, noun = words.split()
    return all(word in (shape["size"], shape["colour"]) for word in adjectives) and (
        noun == "item" or noun in (shape["kind"], shape["text"])
    )


def middle(box: tuple) -> tuple:
    return (box[0] + box[2] / 2, box[1] + box[3] / 2)


@rule(r"^Click on a ((?:large |small )?(?:(?:" + "|".join(COLOURS) + r") )?\w+)$")
def click_shape(match, page):
    page = yield [drawn()]
    shape = first(shape for shape in shapes_of(page) if fits(shape, match[1]))
    return [click_at(*middle(shape["box"]))]


@rule(r"^How many (.+)s are there\?")
def count_shapes(match, page):
    page = yield [drawn()]
    count = sum(fits(shape, match[1]) for shape in shapes_of(page))
    return [click(page.one("button", str(count)))]


@rule(r"^Click the button that best describes the figure")
def identify(_, page):
    page = yield [drawn()]
    shape = shapes_of(page)[0]
    name = {"digit": "Number", "letter": "Letter"}.get(shape["kind"], shape["text"].capitalize())
    return [click(page.named(name, "button"))]


@rule(r"^Click on the grid coordinate \((-?\d+),(-?\d+)\)")
def coordinate(match, page):
    points = [item for item in page.items if item.role == "graphics-symbol"]
    across = sorted({round(item.middle[0]) for item in points})
    down = sorted({round(item.middle[1]) for item in points}, reverse=True)
    # The axes are in the middle.
    x = across[len(across) // 2 + int(match[1])]
    y = down[len(down) // 2 + int(match[2])]
    return [click_at(x, y)]


@rule(r"^Expand the pie menu below and click on the item labeled \"(.+)\"")
def pie(match, page):
    page = yield [click_at(*page.named("+").middle), wait(800)]
    stood = None
    is_clicked = False
    for _ in range(12):
        slices = [item for item in page.items if item.name == match[1]]
        # The slices grow out of the middle: one that still moves may have another one at this point by then.
        if slices and slices[0].box == stood:
            # A slice is drawn again as the pointer comes, too, and a click in that moment is none.
            page = yield [click_at(*slices[0].middle), wait(600)]
            is_clicked = True
            continue
        if is_clicked and not slices:
            return []
        stood = slices[0].box if slices else None
        page = yield [wait(200)]
    raise LookupError("the slice does not appear, or stays")


# Names of the CSS colours that pickers are asked for.
HEX = {
    "aqua": "00ffff", "beige": "f5f5dc", "black": "000000", "blue": "0000ff", "brown": "a52a2a", "cyan": "00ffff",
    "fuchsia": "ff00ff", "gold": "ffd700", "gray": "808080", "green": "008000", "grey": "808080",
    "indigo": "4b0082", "lime": "00ff00", "magenta": "ff00ff", "maroon": "800000", "navy": "000080",
    "olive": "808000", "orange": "ffa500", "pink": "ffc0cb", "purple": "800080", "red": "ff0000",
    "silver": "c0c0c0", "teal": "008080", "tomato": "ff6347", "violet": "ee82ee", "white": "ffffff",
    "yellow": "ffff00",
}  # fmt: skip


@rule(r"^Select (\w+) with the color picker|^Select the following color with the color picker")
def colour(match, page):
    if match[1]:
        wanted = HEX[match[1].lower()]
    else:
        page = yield [find('[style*="background-color"]', "style")]
        style = first(element["attributes"]["style"] for element in page.read["elements"] if element["visible"])
        wanted = hex_of(style)
    field = page.fields[0]
    page = yield [{"type": "setValue", "targetRef": field.id, "value": wanted.upper()}]
    return [click(page.submit)]


def hex_of(style: str) -> str:
    """The colour of a style, as six digits."""
    stated = re.search(r"#([0-9a-f]{6})", style, re.IGNORECASE)
    if stated:
        return stated[1]
    return "".join(f"{int(part):02x}" for part in re.findall(r"\d+", style)[:3])
