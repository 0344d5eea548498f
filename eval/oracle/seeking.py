"""Scrolling until something is there."""

MOST_TURNS = 40
DOWN = {"type": "scroll", "direction": "down"}
TOP = {"type": "scroll", "direction": "top"}


def seek(page, fits):
    """Scrolls until an item fits; returns the page and the item, or the page and None at the end."""
    seen = None
    for _ in range(MOST_TURNS):
        found = next((item for item in page.items if fits(item)), None)
        if found:
            return page, found
        now = [(item.id, item.box) for item in page.items]
        if now == seen:
            break
        seen = now
        page = yield [DOWN]
    return page, None
