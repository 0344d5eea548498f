"""Steps of the plan language, as short calls."""

from .page import Item


def click(item: Item, **more) -> dict:
    """A click on an item. One that has a twin can be named by its place only."""
    if item.ambiguous:
        return click_at(*item.middle)
    return {"type": "click", "targetRef": item.id, **more}


def click_at(x: float, y: float) -> dict:
    return {"type": "clickPoint", "point": {"x": x, "y": y}}


def drag_points(start: tuple, end: tuple, **more) -> dict:
    points = {"from": dict(zip("xy", start)), "to": dict(zip("xy", end))}
    return {"type": "dragPoints", **points, **more}


def put(item: Item, text: str) -> dict:
    """Replaces what stands in a field."""
    return {"type": "setValue", "targetRef": item.id, "value": text}


def keys(item: Item, text: str) -> dict:
    """Types after what stands in a field, key by key."""
    return {"type": "type", "targetRef": item.id, "text": text}


def press(chord: str, item: Item | None = None) -> dict:
    return {"type": "press", "keys": chord, **({"targetRef": item.id} if item else {})}


def select(item: Item, option) -> dict:
    return {"type": "select", "targetRef": item.id, "option": option}


def hover(item: Item, **more) -> dict:
    return {"type": "hover", "targetRef": item.id, **more}


def check(item: Item) -> dict:
    return {"type": "check", "targetRef": item.id}


def into_view(item: Item) -> dict:
    return {"type": "scroll", "targetRef": item.id}


def first(found):
    """The first of what was found. Within a rule, a bare `next` would end the rule without a word."""
    for one in found:
        return one
    raise LookupError("nothing on the page fits")


def find(selector: str, *attributes: str) -> dict:
    """Reads elements that are no candidates, such as the shapes of a drawing."""
    return {"type": "findElements", "selector": selector, "attributes": list(attributes)}


def wait(milliseconds: int) -> dict:
    return {"type": "waitForIdle", "quietMs": milliseconds}


def finish() -> dict:
    return {"type": "finish"}


def fail(reason: str) -> dict:
    return {"type": "fail", "reason": reason}
