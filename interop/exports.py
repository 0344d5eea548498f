#!/usr/bin/env python3
"""Records runs on the built-in site, exports them, and has other people's software read what was written.

DuckDB, polars, pyarrow, `datasets`, moto and the messages of OpenTelemetry come from PyPI, Playwright and a validator of HAR
from npm, each into a folder of its own below `target/interop`. Standard library only here.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from common import (
    ROOT,
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

PYTHON_PACKAGES = ("duckdb", "polars", "pyarrow", "datasets", "moto[server]", "opentelemetry-proto")
NODE_PACKAGES = ("playwright@1.58", "@playwright/test@1.58", "har-validator@5")
FORMATS = ("parquet", "hf", "har", "playwright-trace", "playwright-test", "otlp")
TABLES = ("runs", "steps", "conditions", "candidates", "requests", "planning")
RUN_LIMIT = 120.0
HERE = Path(__file__).parent
QUIET = {"stdin": subprocess.DEVNULL, "check": True}


def python_with_readers() -> Path:
    """The interpreter of a virtual environment with the readers in it, made where it is missing."""
    venv = WORK / "readers"
    python = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], **QUIET)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PYTHON_PACKAGES], **QUIET)
    return python


def node_with_playwright() -> Path:
    """A folder with the packages of npm, made where it is missing."""
    folder = WORK / "playwright"
    if not (folder / "node_modules").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text("{}\n", encoding="utf-8")
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", *NODE_PACKAGES], cwd=folder, **QUIET)
    return folder


def record(options: argparse.Namespace, origin: str, runs: Path) -> None:
    """A login from a plan, one in words, and a click whose postcondition fails."""
    failing = runs.parent / "failing.json"
    failing.write_text(
        json.dumps(
            {
                "version": "1.0",
                "candidates": {"button": {"strategy": "byRole", "role": "button", "name": "Save draft"}},
                "steps": [
                    {"type": "click", "targetRef": "button", "post": [{"kind": "urlMatches", "pattern": "nowhere"}]}
                ],
            }
        ),
        encoding="utf-8",
    )
    login = str(ROOT / "examples" / "plans" / "login.json")
    words = 'log in as "user@example.com" with password "hunter2"'
    for arguments, expected in (
        (["exec", login, "--url", f"{origin}/login"], 0),
        (["run", words, "--url", f"{origin}/login", "--planner", "lexical"], 0),
        (["exec", str(failing), "--url", f"{origin}/toast", "--no-repair"], 1),
    ):
        flags = ["--record", "--out", str(runs), "--json"]
        answer = run_cuebook(options.cuebook, [*arguments, *flags], options.chrome, RUN_LIMIT)
        if answer.exit_code != expected:
            raise HarnessError(f"{arguments[0]}: {answer.why()}")


def record_more(options: argparse.Namespace, origin: str, runs: Path) -> None:
    """The login in words once more, and a click on another page: what a search for like pages is to tell apart."""
    for words, page in (('log in as "user@example.com" with password "hunter2"', "login"), ('click "Save draft"', "toast")):
        arguments = ["run", words, "--url", f"{origin}/{page}", "--planner", "lexical", "--out", str(runs), "--json"]
        answer = run_cuebook(options.cuebook, arguments, options.chrome, RUN_LIMIT)
        if answer.exit_code != 0:
            raise HarnessError(f"run: {answer.why()}")


def read(options: argparse.Namespace, out: Path, origin: str) -> list[list[str]]:
    """What each reader saw, a row each."""
    python, node = python_with_readers(), node_with_playwright()
    rows = []
    for command in (
        [str(python), str(HERE / "read_exports.py"), str(out)],
        [str(python), str(HERE / "search_vectors.py"), str(out)],
        [str(python), str(HERE / "store_exports.py"), options.cuebook, str(out.parent / "runs"), str(out)],
        ["node", str(HERE / "open_exports.cjs"), str(out), str(node), options.chrome],
    ):
        child = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=os.environ)
        if child.returncode != 0:
            raise HarnessError(f"{Path(command[1]).name} ended with {child.returncode}")
        rows.extend(json.loads(line) for line in child.stdout.splitlines() if line.startswith("["))
    tests = node / "tests"
    shutil.rmtree(tests, ignore_errors=True)
    shutil.copytree(out / "playwright-test", tests, ignore=shutil.ignore_patterns("_*"))
    launch = {"executablePath": options.chrome, "args": ["--no-sandbox"]}
    config = {"testDir": str(tests), "reporter": "line", "use": {"launchOptions": launch}}
    (node / "playwright.config.js").write_text(f"module.exports = {json.dumps(config)};\n", encoding="utf-8")
    environment = {**os.environ, "SECRET_1": "hunter2"}
    subprocess.run(["npx", "playwright", "test"], cwd=node, env=environment, stdout=sys.stderr, **QUIET)
    rows.append(["Playwright Test 1.58", "tests", f"{len(list(tests.iterdir()))} pass on Chrome"])
    return rows


def query(options: argparse.Namespace, runs: Path, seen: str) -> list[str]:
    """What `cuebook query` counts, which has to be what others saw. Needs a build with the feature `query`."""

    def ask(sql: str) -> list[dict]:
        answer = run_cuebook(options.cuebook, ["query", str(runs), sql, "--json"], options.chrome, RUN_LIMIT)
        if answer.exit_code != 0:
            raise HarnessError(f"query: {answer.why()}")
        return json.loads(answer.printed)

    counts = ask("select " + ", ".join(f"(select count(*) from {name}) as {name}" for name in TABLES))[0]
    said = ", ".join(f"{counts[name]} {name}" for name in TABLES)
    if not seen.startswith(said):
        raise HarnessError(f"query: expected {seen}, saw {said}")
    roles = ask("select targets[1]['role'] as role, count(*) as steps, max(date) as date from steps group by 1 order by 2 desc")
    if not any(row["role"] == "textbox" and row["date"] for row in roles):
        raise HarnessError(f"query: expected steps on text boxes, saw {roles}")
    refused = run_cuebook(options.cuebook, ["query", str(runs), "copy runs to 'x.csv'", "--json"], options.chrome, RUN_LIMIT)
    if refused.exit_code != 2:
        raise HarnessError(f"query: expected that COPY is refused, saw {refused.why()}")
    return ["cuebook query (DataFusion 55)", "Parquet", said]


def main() -> int:
    options = parsed(arguments_of(__doc__, "readers"))
    work = WORK / "exports"
    shutil.rmtree(work, ignore_errors=True)
    (work / "out").mkdir(parents=True)
    with built_in_site(options.cuebook) as origin:
        record(options, origin, work / "runs")
        record_more(options, origin, work / "more")
        every = [str(work / "runs"), str(work / "more")]
        exported = [(name, name, every[:1]) for name in FORMATS]
        exported += [("vectors", "vectors", every), ("parquet", "candidates-of-vectors", every)]
        for name, folder, runs in exported:
            arguments = ["export", *runs, "--to", name, "--redact", "none", "--out", str(work / "out" / folder)]
            answer = run_cuebook(options.cuebook, [*arguments, "--json"], options.chrome, RUN_LIMIT)
            if answer.exit_code != 0:
                raise HarnessError(f"export to {name}: {answer.why()}")
        rows = read(options, work / "out", origin)
        rows.append(query(options, work / "runs", rows[0][2]))
    text = table(["read by", "format", "seen"], rows)
    publish(options, "readers", text)
    return 0


if __name__ == "__main__":
    run_harness(main)
