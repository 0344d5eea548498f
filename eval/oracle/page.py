"""A request of `cuebook`, as rules read it: items to act on, lines of text, and what steps read."""

import json
import re
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Item:
    """One candidate of the observation."""

    id: str
    role: str
    name: str
    control: str
    value: str
    label: str
    context: str
    states: dict
    options: tuple
    box: tuple  # x, y, width, height in CSS pixels of the viewport
    path: str
    ambiguous: bool
    covered: bool
    in_view: bool

    @property
    def middle(self) -> tuple:
        x, y, width, height = self.box
        return (x + width / 2, y + height / 2)

    @property
    def tag(self) -> str:
        """The name of its element: the last part of the path of tags."""
        return re.split(r"[#\[.]", self.path.rsplit(">", 1)[-1])[0]

    def on(self, state: str) -> bool:
        return self.states.get(state) in (True, "true")


@dataclass(frozen=True)
class Line:
    """One line of the page's text: the quoted texts in it, and the ids that stand in it."""

    raw: str
    texts: tuple
    ids: tuple

    @property
    def text(self) -> str:
        return " ".join(self.texts)


@dataclass
class Page:
    """What one request says."""

    goal: str
    items: list
    lines: list
    past: list
    failure: str
    violations: list
    by_id: dict = field(default_factory=dict)

    def __post_init__(self):
        self.by_id = {item.id: item for item in self.items}

    def all(self, role: str | None = None, name: str | None = None, tag: str | None = None, **states) -> list:
        """Items of a role, an exact name, a tag, and states, in the order of reading. A role may be `a|b`."""
        return [
            item
            for item in self.items
            if (role is None or item.role in role.split("|"))
            and (name is None or item.name == name)
            and (tag is None or item.tag in tag.split("|"))
            and all(item.on(state) == wanted for state, wanted in states.items())
        ]

    def one(self, role: str | None = None, name: str | None = None, tag: str | None = None, **states) -> Item | None:
        """The first of `all`."""
        return next(iter(self.all(role, name, tag, **states)), None)

    def named(self, name: str, role: str | None = None) -> Item | None:
        """The item of this name: exactly, then ignoring case, then as part of a longer one, the shortest first."""
        key = name.strip().lower()
        items = sorted(self.all(role), key=lambda item: len(item.name))
        for fits in (
            lambda item: item.name == name,
            lambda item: item.name.strip().lower() == key,
            lambda item: key in item.name.lower(),
        ):
            found = next(filter(fits, items), None)
            if found:
                return found
        return None

    @property
    def fields(self) -> list:
        """What takes text, in the order of reading."""
        return [item for item in self.items if item.role in ("textbox", "searchbox", "spinbutton")]

    @property
    def submit(self) -> Item | None:
        return self.named("Submit", "button")

    @property
    def read(self) -> object:
        """What the last reading step returned."""
        return next((entry["data"] for entry in reversed(self.past) if entry.get("data") is not None), None)

    @property
    def words(self) -> str:
        """The page's own text, one line a line."""
        return "\n".join(line.text for line in self.lines)


def is_goal(page: Page, line: Line) -> bool:
    """Whether a line repeats the utterance, as MiniWoB++ does above each page."""
    return line.text.replace(" ", "") == page.goal.replace(" ", "")


def item_of(entry: dict) -> Item:
    known = entry["candidate"]
    box = known.get("box") or {"x": 0, "y": 0, "width": 0, "height": 0}
    value = known.get("value")
    return Item(
        id=entry["id"],
        role=known["role"],
        name=known["name"],
        control=known.get("control", "plain"),
        value=value if isinstance(value, str) else "",
        label=known.get("label") or "",
        context=known.get("context") or "",
        states=known.get("states") or {},
        options=tuple(option["label"] for option in known.get("options") or ()),
        box=(box["x"], box["y"], box["width"], box["height"]),
        path=known["fingerprint"].get("path") or "",
        ambiguous=bool(known.get("ambiguous")),
        covered=bool(known.get("occlusion")),
        in_view=known.get("placement", "inView") == "inView",
    )


QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
HEADERS = ("tab ", "kind ", "about ")
ID = re.compile(r"\[(c\d+)\]")


def line_of(raw: str) -> Line:
    texts = tuple(unquote(text) for text in QUOTED.findall(raw))
    return Line(raw, texts, tuple(ID.findall(QUOTED.sub('""', raw))))


def unquote(text: str) -> str:
    try:
        return json.loads(text)
    except ValueError:
        return text[1:-1]


def failure_in(request: dict) -> str:
    """Why the last step failed; empty if it did not."""
    stated = (request.get("failure") or {}).get("message")
    return stated or (request["history"][-1].get("failure") if request["history"] else None) or ""


def page_of(request: dict) -> Page:
    page = request["context"]["page"]
    return Page(
        goal=" ".join(request["goal"].split()),
        items=[item_of(entry) for entry in page["interactables"]],
        # The first line is the page's title and address; what the page says of itself and open tabs may follow it.
        lines=[line_of(raw) for raw in page["text"].split("\n")[1:] if raw.strip() and not raw.startswith(HEADERS)],
        past=request["history"],
        failure=failure_in(request),
        violations=request.get("violations") or [],
    )
