"""Which rule an utterance asks for: the first whose pattern it matches."""

import re

RULES: list = []


def rule(pattern: str):
    """Registers a rule for utterances that match `pattern`, ignoring case.

    A rule is a generator over `(match, page)`: it yields lists of steps, gets the next page for each, and the
    run ends as done when it returns. Steps that it returns are the last ones.
    """

    def register(function):
        RULES.append((re.compile(pattern, re.IGNORECASE | re.DOTALL), function))
        return function

    return register


def find_rule(page):
    """The generator of the rule for a page's goal; None if there is no rule."""
    for pattern, function in RULES:
        found = pattern.search(page.goal)
        if found:
            return function(found, page)
    return None
