"""The loop: requests in, plans out. A run is one goal; its rule is a generator that lives as long."""

import importlib
import json
import pkgutil
import types

from . import plan
from .page import page_of
from .registry import find_rule

MOST_REPAIRS = 4


class Run:
    """The rule of one run, and where it stands."""

    def __init__(self, page) -> None:
        self.goal = page.goal
        self.repairs = 0
        self.last: list = []
        self.begin(page)

    def begin(self, page) -> None:
        found = find_rule(page)
        self.rule = found if isinstance(found, types.GeneratorType) else None
        self.steps_at_once = None if self.rule else found

    def answer(self, page) -> list:
        """The steps for this page."""
        if page.violations:
            said = "; ".join(violation.get("reason") or str(violation) for violation in page.violations)
            return [plan.fail(f"the plan was refused: {said}"[:900])]
        if page.failure:
            self.repairs += 1
            if self.repairs > MOST_REPAIRS:
                return [plan.fail(f"failed again: {page.failure}"[:900])]
            # A rule reads all it needs from the page, so it can begin once more.
            self.begin(page)
            return self.advance(page, first=True)
        return self.advance(page, first=not self.last)

    def advance(self, page, first: bool) -> list:
        if self.rule is None:
            if self.steps_at_once is None:
                return [plan.fail("no rule reads this utterance")]
            self.last = [*self.steps_at_once, plan.finish()]
            return self.last
        try:
            self.last = next(self.rule) if first else self.rule.send(page)
        except StopIteration as end:
            self.last = [*(end.value or []), plan.finish()]
        return self.last


def main(requests, answers) -> None:
    for module in pkgutil.iter_modules(importlib.import_module("oracle").__path__):
        if module.name.startswith("rules_"):
            importlib.import_module(f"oracle.{module.name}")
    run = None
    for line in requests:
        page = page_of(json.loads(line))
        try:
            # One process serves one run, but nothing forbids several goals.
            if run is None or run.goal != page.goal:
                run = Run(page)
            steps = run.answer(page)
        except (LookupError, AttributeError, RuntimeError, TypeError, ValueError) as error:
            steps = [plan.fail(f"the page is not what the rule expects: {type(error).__name__}: {error}"[:900])]
        print(json.dumps({"version": "1.0", "steps": steps}), file=answers, flush=True)
