#!/usr/bin/env python3
"""Says ordinary and hostile sentences to the lexical planner on pages of the built-in site, and asks the server
what came of each.

A sentence ends in one of four ways: done (the report says ok, and the server agrees), asked (`needsAnswer`), failed
(any other end), or silently wrong (the report says ok, and the server knows better, or the sentence asks for what
nothing on the page does). Standard library only.
"""

import argparse
import collections
import json
import sys
import urllib.request

from common import (
    WORK,
    arguments_of,
    built_in_site,
    parsed,
    publish,
    run_cuebook,
    run_harness,
    table,
    write_json,
)

LIMIT = 90.0
GRANTS = ("write", "credential", "send", "money", "destructive")
LOG_IN = "Log in as ann with password correct-horse"


def logged_in(state: dict) -> bool:
    return [login["accepted"] for login in state["logins"]] == [True]


def ordered(size: str):
    return lambda state: [line["size"] for order in state["orders"] for line in order["lines"]] == [size]


def sent(form: str, **fields: str):
    def check(state: dict) -> bool:
        said = [submission["fields"] for submission in state["submissions"] if submission["form"] == form]
        return len(said) == 1 and all(said[0].get(name) == value for name, value in fields.items())

    return check


def deleted(*numbers: str):
    return lambda state: sorted(state["deleted"]) == sorted(numbers)


def hit(name: str, times: int = 1):
    return lambda state: state["hits"].get(name, 0) == times


def nothing(_: dict) -> bool:
    """Nothing on the page does what the sentence asks for: ok is wrong, whatever was done."""
    return False


# The page, the sentence, and what the server must know afterwards.
ORDINARY = (
    ("/login", LOG_IN, logged_in),
    ("/login", "Type ann into Email, type correct-horse into Password and press Log in", logged_in),
    ("/login", "Enter email ann and password correct-horse, then press \"Log in\"", logged_in),
    ("/", f"{LOG_IN}", logged_in),
    ("/login", f"{LOG_IN}, then select Large and press Order", ordered("Large")),
    ("/login", f"{LOG_IN}, set Size to Small, set Quantity to 1 and press Order", ordered("Small")),
    ("/editors", "Type hello into Subject and press Send message", sent("editors", subject="hello")),
    ("/editors", "Set Subject to \"a, b and c\", set Day to 2027-03-31 and press Send message",
     sent("editors", subject="a, b and c", day="2027-03-31")),
    ("/editors", "Type hi into Message, set Copies to 3 and press Send message",
     sent("editors", message="hi", copies="3")),
    ("/editors", "Tick Send me a copy and press Send message", sent("editors", copy="yes")),
    ("/editors", "Select Gift, Return from Tags and press Send message", sent("editors", tags="Gift, Return")),
    ("/editors", "Type \"Dear Bob\" into Letter and press Send letter", sent("letter", text="Dear Bob")),
    ("/orders?confirm=none", "Press Delete for INV-1003", deleted("INV-1003")),
    ("/orders?confirm=none", "Press the second Delete", lambda state: len(state["deleted"]) == 1),
    ("/orders?confirm=native", "Press Delete for INV-1003 and accept the dialog", deleted("INV-1003")),
    ("/orders?confirm=none", "Search for INV-1003 and press Delete", deleted("INV-1003")),
    ("/dialogs", "Press Ask to confirm, then accept the dialog", hit("dialog.confirmed")),
    ("/dialogs", "Press Ask for a name and answer with Zoe", sent("prompt", name="Zoe")),
    ("/dialogs", "Press Accept cookies", hit("dialog.cookies-accepted")),
    ("/dialogs", "Press Decline, press Open address book, type Rome into City and press Save address",
     sent("address", city="Rome")),
    ("/widgets", "Tick Price alerts", sent("alerts", on="true")),
    ("/widgets", "Press Gift note, type hi into Text of the note and press Keep note", sent("note", text="hi")),
    ("/widgets", "Double-click \"Open twice\"", hit("widgets.twice")),
    ("/widgets", "Right-click More by the other button", hit("widgets.context")),
    ("/menus", "Switch to the Reviews tab and press Write a review", hit("menus.review")),
    ("/tabs", "Press Open window", hit("tabs.opened")),
    ("/hostile", "Press Buy", hit("hostile.buy")),
    ("/shop", "Press Add to cart for Notebook", lambda state: state["requestsByPath"].get("/cart/add") == 1),
)
HOSTILE = (
    ("/login", "Log in as ann with password wrong", nothing),
    ("/login", "Log in as bob with password \"correct-horse\"", nothing),
    ("/login", f"{LOG_IN} and make me a sandwich", nothing),
    ("/login", f"{LOG_IN}. Cancel my newsletter", nothing),
    ("/login", f"{LOG_IN}, then buy the cheapest pen", nothing),
    ("/login", "Type ann into Email, type nonsense into Password and press Log in", nothing),
    ("/login", "Reset my password", nothing),
    ("/", "Find the cheapest notebook", nothing),
    ("/", "Buy two pens and have them gift wrapped", nothing),
    ("/", "Tell me what the site sells", nothing),
    ("/menus", "Find the cheapest flight to Rome", nothing),
    ("/menus", "Type Rome into City and press Enter", nothing),
    ("/menus", "Book the flight", nothing),
    ("/orders?confirm=native", "Press Delete for INV-1003", nothing),
    ("/orders?confirm=dialog", "Press Delete for INV-1003", nothing),
    ("/orders?confirm=native", "Press Delete", nothing),
    ("/orders?confirm=none", "Delete all invoices", nothing),
    ("/orders?confirm=none", "Delete the invoice of Nobody", nothing),
    ("/orders?confirm=none", "Delete every invoice that is overdue", nothing),
    ("/orders?confirm=none", "Press Delete for INV-9999", nothing),
    ("/orders?confirm=none", "Press the last Delete unless it is paid", nothing),
    ("/orders?confirm=none", "Sort by amount and delete the largest", nothing),
    ("/orders?confirm=none", "Mark INV-1003 as paid", nothing),
    ("/editors", "Replace its text by hello", nothing),
    ("/editors", "Type hello", nothing),
    ("/editors", "Type hello into Branch", nothing),
    ("/editors", "Type hello into Customer number", nothing),
    ("/editors", "Set Day to next Friday", nothing),
    ("/editors", "Set Copies to a dozen and press Send message", nothing),
    ("/editors", "Upload my tax return", nothing),
    ("/editors", "Write a letter to Bob and send it", nothing),
    ("/editors", "Select Express from Tags", nothing),
    ("/editors", "Type \"hello into Subject", nothing),
    ("/editors", "Do not press Send message", nothing),
    ("/shop", "Press Add to cart", nothing),
    ("/shop", "Order the blue fountain pen in Huge", nothing),
    ("/shop", "Set the quantity to 3", nothing),
    ("/checkout", "Press Place order", nothing),
    ("/checkout", "Check out with my usual address", nothing),
    ("/dialogs", "Press Show alert", nothing),
    ("/dialogs", "Press Ask to confirm", nothing),
    ("/dialogs", "Press Decline, then press Open address book", nothing),
    ("/dialogs", "Subscribe me to the price list", nothing),
    ("/status/404", "Open Home page of Bob", nothing),
    ("/counter", "Press Archive", nothing),
    ("/widgets", "Set Paper weight to very heavy", nothing),
    ("/widgets", "Hold Hold to ring for a second", nothing),
    ("/toast", "Wait until \"Never said\" appears", nothing),
    ("/grid?n=100", "Press the right button", nothing),
    ("/frames", "Fill in the form in the second frame", nothing),
    ("/slow", "Wait five minutes", nothing),
    ("/newsletter", "Subscribe if it is free", nothing),
)


def get(url: str, method: str = "GET") -> bytes:
    with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=20) as answer:
        return answer.read()


def episode(options: argparse.Namespace, origin: str, kind: str, path: str, words: str, check) -> dict:
    """One sentence in one browser."""
    get(f"{origin}/reset", "POST")
    arguments = ["run", words, "--url", f"{origin}{path}", "--planner", "lexical", "--json"]
    arguments += ["--out", str(WORK / "runs" / "sentences")]
    for grant in GRANTS:
        arguments += ["--grant", f"{grant}@{origin}"]
    answer = run_cuebook(options.cuebook, arguments, options.chrome, LIMIT)
    agrees = check(json.loads(get(f"{origin}/state")))
    if answer.result == "ok":
        end = "done" if agrees else "silently wrong"
    else:
        end = "asked" if answer.code == "needsAnswer" else "failed"
    return {"kind": kind, "path": path, "words": words, "end": end, "why": answer.why()}


def main() -> int:
    options = parsed(arguments_of(__doc__, "sentences"))
    with built_in_site(options.cuebook) as origin:
        episodes = []
        for kind, sentences in (("ordinary", ORDINARY), ("hostile", HOSTILE)):
            for path, words, check in sentences:
                episodes.append(episode(options, origin, kind, path, words, check))
                print("  {end:15} {path} {words}  [{why}]".format(**episodes[-1]), file=sys.stderr, flush=True)
    write_json(WORK / "sentences.json", episodes)
    ends = ("done", "asked", "failed", "silently wrong")
    counts = collections.Counter((each["kind"], each["end"]) for each in episodes)
    rows = [[kind, *(counts[kind, end] for end in ends)] for kind in ("ordinary", "hostile")]
    text = table(["sentences", *ends], rows)
    publish(options, "sentences", text)
    return 1 if any(each["end"] == "silently wrong" for each in episodes) else 0


if __name__ == "__main__":
    run_harness(main)
