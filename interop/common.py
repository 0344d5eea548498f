"""What the harnesses need: a Chrome, `cuebook` as a child process, tables in a document.

Standard library only. Nothing here looks into a page: what happened is told by the
application under test, what the agent thinks of it by its report.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "target" / "interop"

CHROME_NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "chrome-headless-shell",
)


class HarnessError(Exception):
    """The harness itself could not do its work: no result is worth anything then."""


def find_chrome(named: str | None) -> str:
    """The executable that was named, that of `$CHROME`, or the first of the usual names."""
    chrome = named or os.environ.get("CHROME")
    if not chrome:
        chrome = next(filter(None, map(shutil.which, CHROME_NAMES)), None)
    if not chrome or not Path(chrome).is_file():
        raise HarnessError(f"expected a Chrome (--chrome or $CHROME), saw {chrome!r}")
    return chrome


def find_cuebook(named: str | None) -> str:
    """The executable that was named, or the one that `cargo build` leaves."""
    cuebook = Path(named) if named else ROOT / "target" / "debug" / "cuebook"
    if not cuebook.is_file():
        raise HarnessError(f"expected cuebook at {cuebook}; run `cargo build -p cuebook-cli`")
    return str(cuebook)


@dataclass(frozen=True)
class Answer:
    """How one `cuebook --json` ended. `report` is None if it printed no JSON document."""

    exit_code: int | None
    report: dict | None
    printed: str
    complaints: str

    @property
    def result(self) -> str:
        """The word of the report; what stands in for it where there is none."""
        if self.exit_code is None:
            return "killed"
        return str((self.report or {}).get("result", f"exit {self.exit_code}"))

    @property
    def code(self) -> str | None:
        """The report's error code."""
        return ((self.report or {}).get("error") or {}).get("code")

    def why(self) -> str:
        """In a line: the report's error, its last failed step, or what was printed instead."""
        if self.exit_code is None:
            return "no end within the harness's limit"
        if self.report is None:
            return shorten(self.complaints or self.printed or "printed nothing")
        parts = []
        error = self.report.get("error")
        if error:
            parts.append(f"{error.get('code')}: {error.get('message')}")
        failed = [step for step in self.report.get("steps") or [] if step.get("failure")]
        if failed:
            action = failed[-1].get("action") or {}
            failure = failed[-1]["failure"]
            what = f"{action.get('type')} {action.get('targetRef', '')}".strip()
            parts.append(f"{what}: {failure.get('cause')} ({failure.get('stage')}): {failure.get('message')}")
        return shorten("; ".join(parts))


def shorten(text: str, limit: int = 240) -> str:
    """One line without control characters, cut at `limit`."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def run_cuebook(cuebook: str, arguments: list[str], chrome: str, limit: float) -> Answer:
    """Runs `cuebook` and waits for it, at most `limit` seconds; then kills its whole group."""
    child = subprocess.Popen(
        [cuebook, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env={**os.environ, "CHROME": chrome},
        start_new_session=True,
    )
    exit_code: int | None
    try:
        printed, complaints = child.communicate(timeout=limit)
        exit_code = child.returncode
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        printed, complaints = child.communicate()
        exit_code = None
    try:
        report = json.loads(printed)
    except ValueError:
        report = None
    if not isinstance(report, dict):
        report = None
    return Answer(exit_code, report, printed, complaints)


def stop_group(child: subprocess.Popen) -> None:
    """Ends a child that was started in a session of its own, and all that it started."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()


@contextlib.contextmanager
def built_in_site(cuebook: str) -> Iterator[str]:
    """The origin of the built-in site, which is served meanwhile."""
    site = subprocess.Popen(
        [cuebook, "site", "--port", "0", "--json"], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        yield json.loads(site.stdout.readline())["origin"]
    finally:
        stop_group(site)


def arguments_of(description: str, block: str | None = None) -> argparse.ArgumentParser:
    """The flags of every harness; with a `block`, of one that leaves a table in a document."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuebook", help="the executable; target/debug/cuebook unless stated")
    parser.add_argument("--chrome", help="the executable; $CHROME or the usual names unless stated")
    if block:
        parser.add_argument("--docs", type=Path, help=f"a document whose block `{block}` gets the table")
    return parser


def parsed(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """What was given, with the executables that are used."""
    options = parser.parse_args()
    options.chrome, options.cuebook = find_chrome(options.chrome), find_cuebook(options.cuebook)
    return options


def publish(options: argparse.Namespace, block: str, text: str) -> None:
    """Prints what a harness found, and writes it into its document if that was wanted."""
    print(text)
    if options.docs:
        write_block(options.docs, block, text)


def run_harness(main: Callable[[], int]) -> None:
    """Runs a harness and ends the process: with 1 if it falls short, with 2 if it could not do its work. One that is told to
    end still ends what it started."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        sys.exit(main())
    except (HarnessError, subprocess.CalledProcessError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


def write_json(path: Path, value: object) -> None:
    """Writes readable JSON and makes the folder where it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_block(document: Path, name: str, content: str) -> None:
    """Replaces what stands between `<!-- name:begin -->` and `<!-- name:end -->`."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    text = document.read_text(encoding="utf-8")
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise HarnessError(f"expected the markers of {name} in {document.name}")
    document.write_text(f"{before}{begin}\n{content.strip()}\n{end}{after}", encoding="utf-8")


def cell(text: object) -> str:
    """A text that cannot break out of its cell in a Markdown table."""
    return str(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def table(head: list[str], rows: list[list[object]]) -> str:
    """A Markdown table; columns after the first are aligned to the right where all are numbers."""

    def numeric(column: int) -> bool:
        return all(isinstance(row[column], (int, float)) for row in rows)

    rule = ["---:" if numeric(column) else "---" for column in range(len(head))]
    lines = [head, rule, *([cell(value) for value in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
