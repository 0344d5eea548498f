#!/usr/bin/env python3
"""Records four runs on the built-in site, writes their pages and the page of all of them, serves the pages of two, and of
a session that goes on meanwhile, and has axe look at each.

Every page is looked at in a wide and a narrow window, light and dark. `axe-core` and Playwright come from npm, into a folder
below `target/interop`. Standard library only here.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from common import (
    WORK,
    HarnessError,
    arguments_of,
    built_in_site,
    parsed,
    publish,
    run_cuebook,
    run_harness,
    table,
)

NODE_PACKAGES = ("playwright@1.58", "axe-core@4.10")
RUN_LIMIT = 300.0
# A plan has at most 200 steps, and longer runs need a model: the entries of such a plan are repeated.
PLAN = 200
LONG = 500
# Runs whose pages are also served.
SERVED = ("failing", "repaired")
HERE = Path(__file__).parent


def button(name: str, **more: object) -> dict:
    return {
        "version": "1.0",
        "candidates": {"button": {"strategy": "byRole", "role": "button", "name": name}},
        "steps": [{"type": "click", "targetRef": "button", **more}],
    }


def plans(origin: str) -> list[tuple[str, list[str], str | dict, int]]:
    """Each run: its name, its arguments, its plan (or a task in words), and how it ends."""
    nowhere = [{"kind": "urlMatches", "pattern": "nowhere"}]
    checks = {"type": "assert", "condition": {"kind": "urlMatches", "pattern": "shop"}}
    scrolls = [{"type": "scroll", "deltaY": 40}, {"type": "scroll", "deltaY": -40}, checks]
    long = {"version": "1.0", "steps": (scrolls * PLAN)[: PLAN - 1]}
    words = 'log in as "user@example.com" with password "hunter2"'
    return [
        ("passing", ["--url", f"{origin}/login", "--record"], words, 0),
        ("failing", ["--url", f"{origin}/toast", "--record", "--no-repair"], button("Save draft", post=nowhere), 1),
        ("repaired", ["--url", f"{origin}/newsletter", "--record"], button("Continue"), 0),
        ("long", ["--url", f"{origin}/shop"], long, 0),
    ]


def record(options: argparse.Namespace, origin: str, work: Path) -> list[Path]:
    """The pages that were written."""
    pages = []
    for name, flags, plan, expected in plans(origin):
        if isinstance(plan, str):
            arguments = ["run", plan]
        else:
            path = work / f"{name}.json"
            path.write_text(json.dumps(plan), encoding="utf-8")
            arguments = ["exec", str(path)]
        runs = work / "runs" / name
        answer = run_cuebook(
            options.cuebook, [*arguments, *flags, "--out", str(runs), "--json"], options.chrome, RUN_LIMIT
        )
        if answer.exit_code != expected:
            raise HarnessError(f"{name}: {answer.why()}")
        run = next(runs.iterdir())
        if name == "long":
            lengthen(run / "log.jsonl")
        page = work / f"{name}.html"
        report(options, [str(run)], page)
        pages.append(page)
    page = work / "all.html"
    report(options, [str(path) for path in sorted((work / "runs").iterdir())], page)
    return [*pages, page]


def lengthen(log: Path) -> None:
    """Repeats the steps of a log until it has `LONG`."""
    entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    steps = [entry for entry in entries if entry["entry"] in ("begin", "commit")]
    count = sum(entry["entry"] == "commit" for entry in steps)
    rounds = [
        {**entry, "stepIndex": entry["stepIndex"] + turn * count}
        for turn in range(-(-LONG // count))
        for entry in steps
        if entry["stepIndex"] + turn * count < LONG
    ]
    lines = [entries[0], *rounds, entries[-1]]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def report(options: argparse.Namespace, runs: list[str], page: Path) -> None:
    answer = run_cuebook(options.cuebook, ["report", *runs, "--out", str(page), "--json"], options.chrome, RUN_LIMIT)
    if answer.exit_code != 0:
        raise HarnessError(f"{page.name}: {answer.why()}")


@contextmanager
def served(options: argparse.Namespace, run: str) -> Iterator[str]:
    """The address of the page of a run, or of a session."""
    command = [options.cuebook, "view", run, "--json"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield json.loads(server.stdout.readline())["url"]
        finally:
            server.terminate()


@contextmanager
def session(options: argparse.Namespace, origin: str, work: Path) -> Iterator[str]:
    """The name of a session in which somebody works meanwhile."""
    name = f"report-{os.getpid()}"
    is_over = threading.Event()
    commands = [
        ["open", f"{origin}/login"],
        ["type", "label=Email", "ann"],
        ["open", f"{origin}/counter"],
        ["click", 'button "Count"'],
        ["wait", "--time", "2"],
    ]

    def work_on() -> None:
        while not is_over.is_set():
            for command in commands:
                run_cuebook(options.cuebook, [*command, "-s", name, "--json"], options.chrome, RUN_LIMIT)

    start = ["start", "-s", name, "--watch", "--out", str(work / "sessions"), "--json"]
    answer = run_cuebook(options.cuebook, start, options.chrome, RUN_LIMIT)
    if answer.exit_code != 0:
        raise HarnessError(f"no session: {answer.complaints}")
    person = threading.Thread(target=work_on)
    person.start()
    try:
        yield name
    finally:
        is_over.set()
        person.join()
        run_cuebook(options.cuebook, ["close", "-s", name, "--json"], options.chrome, RUN_LIMIT)


def looked_at(options: argparse.Namespace, pages: list[str]) -> list[list[str]]:
    folder = WORK / "axe"
    if not (folder / "node_modules").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text("{}\n", encoding="utf-8")
        install = ["npm", "install", "--no-audit", "--no-fund", "--silent", *NODE_PACKAGES]
        subprocess.run(install, cwd=folder, stdin=subprocess.DEVNULL, check=True)
    command = ["node", str(HERE / "axe.cjs"), str(folder), options.chrome, *pages]
    child = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    rows = [json.loads(line) for line in child.stdout.splitlines() if line.startswith("[")]
    if child.returncode != 0:
        raise HarnessError(f"axe.cjs ended with {child.returncode}")
    return rows


def main() -> int:
    options = parsed(arguments_of(__doc__, "axe"))
    work = WORK / "reports"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    with built_in_site(options.cuebook) as origin:
        pages = [str(page) for page in record(options, origin, work)]
        with ExitStack() as stack:
            goes_on = stack.enter_context(session(options, origin, work))
            shown = {"session": goes_on, **{name: str(next((work / "runs" / name).iterdir())) for name in SERVED}}
            for name, run in shown.items():
                pages.append(f"{work / f'live-{name}.html'}={stack.enter_context(served(options, run))}")
            rows = looked_at(options, pages)
    text = table(["page", "rules that passed", "violations", "wider than the window", "requests"], rows)
    publish(options, "axe", text)
    bad = [row[0] for row in rows if any(cell != "0" for cell in row[2:])]
    if bad:
        print(f"error: expected no violation, overflow or request, saw some in {', '.join(bad)}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    run_harness(main)
