"""Clicks on what the utterance names, where the page shows it at once."""

import json
import re

from .plan import click, click_at, find, first, hover, wait
from .registry import rule

@rule(r"^Click the button\.$")
def the_button(_, page):
    return [click(page.one("button"))]


@rule(r"^Click button (\w+)(?:, then click button (\w+))?\.$")
def buttons(match, page):
    return [click(page.named(name, "button")) for name in match.groups() if name]


@rule(r"^Click button (\w+), wait (\d+) seconds?, then click button (\w+)")
def buttons_with_a_pause(match, page):
    first, seconds, second = match.groups()
    one = page.named(first, "button")
    # All that the click changes is the focus: without the condition, the step would wait for another effect.
    clicked = click(one, post=[{"kind": "focused", "target": one.id}])
    # The picture of the page that a run takes after its first step is not to lie between the presses. The end of the first
    # press, a look at the page and the beginning of the second press take the rest of the pause.
    return [hover(one), clicked, wait(int(seconds) * 1000 - 140), click(page.named(second, "button"))]


@rule(r'^Click on the "(.+)" button\.$')
def labelled_button(match, page):
    return [click(page.named(match[1], "button"))]


@rule(r'^Click on the link "(.+)"\.$')
def link(match, page):
    return [click(page.named(match[1]))]


@rule(r"^Click on (Tab #\d+)")
def tab(match, page):
    return [click(page.named(match[1], "tab"))]


@rule(r'^Close the dialog box by clicking the "x"')
def close_dialog(_, page):
    return [click(page.named("Close", "button"))]


@rule(r'^Click the button in the dialog box labeled "(.+)"')
def dialog_button(match, page):
    # The cross in the corner has no words; it is called x or Close.
    return [click(page.named("Close" if match[1] == "x" else match[1], "button"))]


@rule(r'^Click on a "(\w+)" widget')
def widget(match, page):
    kind = match[1]
    if kind in ("text", "textarea"):
        wanted = "textarea" if kind == "textarea" else "input"
        return [click(first(item for item in page.all("textbox") if item.tag == wanted))]
    return [click(page.one(kind))]


@rule(r"^Focus into the (?:(\d+)\w\w input )?textbox")
def focus(match, page):
    return [click(page.fields[int(match[1] or 1) - 1])]


@rule(r"^Click the cancel button")
def cancel(_, page):
    return [click(page.named("Cancel", "button"))]


@rule(r"^Click on the numbers in ascending order")
def ascending(_, page):
    numbers = [item for item in page.items if re.fullmatch(r"-?\d+", item.name)]
    # The numbers go with the first click: what is left of them is where they were.
    return [click_at(*item.middle) for item in sorted(numbers, key=lambda item: int(item.name))]


@rule(r"^Find and pick the card with the greatest number")
def greatest(_, page):
    cards = [item for item in page.items if re.fullmatch(r"\d+", item.name)]
    return [click(max(cards, key=lambda item: int(item.name))), click(page.submit)]


@rule(r"^Mark the numbers below as odd or even")
def odd_or_even(_, page):
    done = set()
    while True:
        steps = []
        for line in page.lines:
            number = next((text for text in line.texts if re.fullmatch(r"-?\d+", text)), None)
            if number is not None and len(line.ids) == 2:
                odd, even = (page.by_id[id] for id in line.ids)
                chosen = odd if int(number) % 2 else even
                if chosen.id not in done and len(steps) < 6:
                    done.add(chosen.id)
                    steps.append(click(chosen))
        if not steps:
            return [click(page.submit)]
        page = yield steps


@rule(r"^Buy the ticket with the (cheapest|most expensive|shortest|longest)")
def ticket(match, page):
    offers = []
    lasting = 0
    for line in page.lines:
        duration = re.search(r"(\d+)h (\d+)m", line.text)
        if duration:
            lasting = int(duration[1]) * 60 + int(duration[2])
        price = re.search(r"\$(\d+)", line.text)
        if price and line.ids:
            offers.append({"price": int(price[1]), "lasting": lasting, "item": page.by_id[line.ids[0]]})
    by = "price" if match[1] in ("cheapest", "most expensive") else "lasting"
    best = (min if match[1] in ("cheapest", "shortest") else max)(offers, key=lambda offer: offer[by])
    return [click(best["item"])]


@rule(r"^Buy (\w+) stock when the price is less than \$(\d+\.\d+)")
def stock(match, page):
    limit = float(match[2])
    for turn in range(200):
        # A little more around the words each time: a plan that comes back unchanged ends the run.
        page = yield [{"type": "searchPage", "query": "Stock price", "context": 20 + turn}]
        price = re.search(r"Stock price: \$(\d+\.\d+)", json.dumps(page.read))
        # The price goes on while the click is on its way.
        if price and float(price[1]) < limit - 1:
            return [click(page.named("Buy", "button"))]
    return []


@rule(r"^Click on the (\S+) colored box")
def coloured_box(match, page):
    page = yield [find('#area [style*="background"], .color', "style")]
    for element in page.read["elements"]:
        style = element["attributes"]["style"] or ""
        item = page.by_id.get(element["nearest"])
        if match[1] in style and item and item.box[2] > 0:
            box = element.get("box") or dict(zip(("x", "y", "width", "height"), item.box))
            if box["y"] > 50:
                return [click_at(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)]
    raise LookupError(f"no box is {match[1]}")


@rule(r"^Select all the shades of (red|green|blue)")
def shades(match, page):
    page = yield [find("#area span", "style")]
    strongest = {"red": 0, "green": 1, "blue": 2}[match[1]]
    steps = []
    for element in page.read["elements"]:
        parts = [int(part) for part in re.findall(r"\d+", element["attributes"]["style"] or "")[:3]]
        if parts and parts.index(max(parts)) == strongest:
            steps.append(click(page.by_id[element["nearest"]]))
    while steps:
        now, steps = steps[:6], steps[6:]
        page = yield now
    return [click(page.submit)]


@rule(r"^Find and click on the HOT area")
def hot(_, page):
    """Goes over the area point by point; what it says gets warmer near the right one."""

    def area(page):
        return max((item for item in page.items if not item.name), key=lambda item: item.box[3])

    _, _, width, height = area(page).box

    def warmth(page) -> int:
        said = [line.text for line in page.lines] + [item.name for item in page.items]
        return max((("ICE COLD", "COLD", "WARM", "HOT").index(t) for t in said if t in WARMTH), default=0)

    def points(left, top, right, bottom, apart):
        return [(a, b) for a in span(left, right, apart) for b in span(top, bottom, apart)]

    best, near = None, points(4, 4, width - 4, height - 4, 36)
    for apart in (36, 12, 5):
        warmest = -1
        for point in near:
            page = yield [hover(area(page), position={"x": point[0], "y": point[1]})]
            now = warmth(page)
            if now > warmest:
                warmest, best = now, point
            if now == 3 or (now > 0 and apart == 36) or (now > 1 and apart == 12):
                break
        if warmest == 3:
            return [click(area(page), position={"x": best[0], "y": best[1]})]
        reach = {36: 40, 12: 10}.get(apart, 5)
        near = points(
            max(2, best[0] - reach), max(2, best[1] - reach), min(width - 2, best[0] + reach),
            min(height - 2, best[1] + reach), {36: 12, 12: 5}.get(apart, 5),
        )  # fmt: skip
        near.sort(key=lambda point: abs(point[0] - best[0]) + abs(point[1] - best[1]))
    raise LookupError("nothing is hot")


WARMTH = ("ICE COLD", "COLD", "WARM", "HOT")


def span(start: float, end: float, apart: float) -> list:
    return [start + apart * at for at in range(int((end - start) / apart) + 1)]
