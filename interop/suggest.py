#!/usr/bin/env python3
"""Suggests test ids in the source of two applications of npm, and changes their texts before and after.

Each is built from its source, used by `cuebook`, rebuilt with another text, and replayed: by texts alone the replay is
lost, or has to find another target; with the ids of `cuebook suggest --write` and a new recording it is not. Node and npm
build; standard library only here.
"""

import functools
import http.server
import json
import re
import shutil
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from common import WORK, Answer, HarnessError, arguments_of, parsed, publish, run_cuebook, run_harness, table

LIMIT = 120.0
PAGE = '<!doctype html><title>TodoMVC</title><link rel="stylesheet" href="app.css"><div id="root" class="todoapp"></div><script src="app.js"></script>'
# The names of built files have digests in them, and an icon may come before its step is over or after.
IGNORED = ("--ignore", "/assets/", "--ignore", ".svg")
TODO_PACKAGES = ("react@16.14.0", "react-dom@16.14.0", "prop-types@15.8.1", "classnames@2.5.1", "esbuild@0.25.12")
TODO_STYLES = ("todomvc-app-css@2.4.3", "todomvc-common@1.0.5")


@dataclass(frozen=True)
class Application:
    """An application of npm, what is done in it, and the text that changes."""

    package: str
    folder: str
    install: tuple[str, ...]
    build: tuple[str, ...]
    page: str | None
    file: str
    change: tuple[str, str]
    ids: tuple[str, ...]
    use: Callable[["Trial"], Path]


class Trial:
    """One application in a folder of its own, with the origin that serves it."""

    def __init__(self, options: object, application: Application, work: Path, origin: str) -> None:
        self.options, self.application, self.work, self.origin = options, application, work, origin
        self.recordings = 0

    def cuebook(self, *arguments: str) -> Answer:
        return run_cuebook(self.options.cuebook, list(arguments), self.options.chrome, LIMIT)

    def build(self) -> None:
        subprocess.run(self.application.build, cwd=self.work, stdin=subprocess.DEVNULL, check=True)
        if self.application.page:
            (self.work / "dist" / "index.html").write_text(self.application.page, encoding="utf-8")

    def runs(self) -> Path:
        self.recordings += 1
        return self.work / f"runs-{self.recordings}"

    def replayed(self, run: Path) -> str:
        """How a replay on the changed texts ends. The source is as before afterwards."""
        path = self.work / self.application.file
        text = path.read_text(encoding="utf-8")
        changed = text.replace(*self.application.change)
        if changed == text:
            raise HarnessError(f"expected {self.application.change[0]!r} in {self.application.file}")
        path.write_text(changed, encoding="utf-8")
        self.build()
        out = str(self.work / "replays")
        answer = self.cuebook("replay", str(run), "--similarity", "0", "--timeout", "3s", "--out", out, "--json", *IGNORED)
        path.write_text(text, encoding="utf-8")
        divergences = len(((answer.report or {}).get("replay") or {}).get("divergences") or [])
        return f"{answer.result}, {divergences} differences"


def only_run(runs: Path) -> Path:
    folders = [folder for folder in runs.iterdir() if (folder / "log.jsonl").is_file()]
    if len(folders) != 1:
        raise HarnessError(f"expected one run in {runs}, saw {folders}")
    return folders[0]


def use_todo(trial: Trial) -> Path:
    """Adds an item, ticks it, and clears what is completed, in a session."""
    runs = trial.runs()
    session = ("-s", f"suggest-{trial.recordings}")
    calls = [
        ("start", "--out", str(runs)),
        ("open", trial.origin),
        ("type", "c1", "milk"),
        ("press", "Enter", "--target", "c1"),
        ("click", "c2"),
        ("click", "c7"),
    ]
    try:
        for call in calls:
            answer = trial.cuebook(*call, *session)
            if answer.exit_code != 0:
                raise HarnessError(f"{' '.join(call)}: {answer.printed}{answer.complaints}")
    finally:
        trial.cuebook("close", *session)
    return only_run(runs)


def use_counter(trial: Trial) -> Path:
    runs = trial.runs()
    task = 'Click "Count is 0". Click "Explore Vite"'
    answer = trial.cuebook("run", task, "--url", trial.origin, "--planner", "lexical", "--out", str(runs), "--json")
    if answer.result != "ok":
        raise HarnessError(answer.why())
    return only_run(runs)


APPLICATIONS = (
    Application(
        package="todomvc-react@1.0.4",
        folder="package",
        install=TODO_PACKAGES + TODO_STYLES,
        build=("npx", "esbuild", "src/index.js", "--bundle", "--loader:.js=jsx", "--outfile=dist/app.js", "--log-level=error"),
        page=PAGE,
        file="src/Footer.js",
        change=("Clear completed", "Tidy up"),
        ids=("footer-clear-completed",),
        use=use_todo,
    ),
    Application(
        package="create-vite@9.3.0",
        folder="package/template-vue",
        install=(),
        build=("npx", "vite", "build", "--logLevel", "error"),
        page=None,
        file="src/components/HelloWorld.vue",
        change=("Count is", "Clicks so far:"),
        ids=("center-count-is", "docs-explore-vite"),
        use=use_counter,
    ),
)


@contextmanager
def served(folder: Path):
    """The origin of a folder, which is served meanwhile."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    folder.mkdir(parents=True, exist_ok=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()


def fetched(application: Application, work: Path) -> Path:
    """The source of an application, with the packages that build it."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    quiet = ("--silent", "--no-audit", "--no-fund")
    pack = ["npm", "pack", application.package, "--silent"]
    name = subprocess.run(pack, cwd=work, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    with tarfile.open(work / name) as archive:
        archive.extractall(work, filter="data")
    project = work / application.folder
    if application.install:
        # Its own list names the tools of its authors; the source needs only these.
        (project / "package.json").write_text('{"private": true}\n', encoding="utf-8")
        shutil.rmtree(project / "dist", ignore_errors=True)
    subprocess.run(["npm", "install", *application.install, *quiet], cwd=project, check=True)
    return project


def judged(options: object, application: Application) -> tuple[list[object], list[str]]:
    project = fetched(application, WORK / "suggest" / application.package.split("@")[0])
    with served(project / "dist") as origin:
        trial = Trial(options, application, project, origin)
        trial.build()
        first = application.use(trial)
        before = trial.replayed(first)
        files = {path: path.read_text(encoding="utf-8") for path in (project / "src").rglob("*.*") if path.suffix in (".js", ".vue")}
        answer = trial.cuebook("suggest", str(first), "--source", str(project / "src"), "--write", "--json")
        if answer.report is None:
            raise HarnessError(answer.complaints)
        outcomes = [suggestion["outcome"] for suggestion in answer.report["suggestions"]]
        ids = tuple(sorted(outcome["testId"] for outcome in outcomes if outcome["result"] == "added"))
        others = sorted(outcome["result"] for outcome in outcomes if outcome["result"] != "added")
        stripped = {path: re.sub(r' data-testid="[a-z-]+"', "", path.read_text(encoding="utf-8")) for path in files}
        trial.build()
        after = trial.replayed(application.use(trial))
    short = []
    if ids != application.ids:
        short.append(f"{application.package}: expected the ids {application.ids}, saw {ids}: {json.dumps(outcomes)}")
    if stripped != files:
        short.append(f"{application.package}: something else than ids was written")
    if before == "ok, 0 differences":
        short.append(f"{application.package}: the replay by texts was expected to fail or to differ, saw {before}")
    if after != "ok, 0 differences":
        short.append(f"{application.package}: the replay by ids was expected to be equal, saw {after}")
    changed = f"{application.change[0]} → {application.change[1]}"
    return [application.package, ", ".join(ids), ", ".join(others) or "none", changed, before, after], short


def main() -> int:
    options = parsed(arguments_of(__doc__, "suggest"))
    rows, short = [], []
    for application in APPLICATIONS:
        row, wrong = judged(options, application)
        rows.append(row)
        short += wrong
    head = ["source", "ids", "without one", "text that changed", "replay by texts", "replay by ids"]
    publish(options, "suggest", table(head, rows))
    for line in short:
        print(f"error: {line}", file=sys.stderr)
    return 1 if short else 0


if __name__ == "__main__":
    run_harness(main)
