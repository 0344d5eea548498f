#!/usr/bin/env python3
"""Drives MiniWoB++ tasks with `cuebook run` and a planner, and counts rewards of exactly 1.

An agent is given the utterance and the page, nothing else. The utterances come from a first load in a
plain headless Chrome; the reward is what the task's own page reports of the second load, the agent's.
Standard library only; the tasks come from their PyPI package.
"""

import argparse
import collections
import http.server
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from common import (
    ROOT,
    WORK,
    Answer,
    HarnessError,
    find_chrome,
    find_cuebook,
    run_cuebook,
    shorten,
    stop_group,
    table,
    write_block,
    write_json,
)

PACKAGE = "miniwob==1.1.0"
TASKS = (
    "click-button",
    "click-link",
    "enter-text",
    "login-user",
    "click-checkboxes",
    "choose-list",
    "click-tab",
    "click-dialog",
    "click-test-2",
    "enter-password",
)
SEEDS = 20
VIEWPORT = "332x214"
# Everything that a task may want of a button, on the harness's own origin. The buttons of a generated
# page mean nothing: no task of this suite is about asking first.
GRANTS = ("write", "credential", "send", "money", "destructive")
STEP_TIMEOUT = "15s"
# For one episode, in seconds: above what `cuebook` allows itself for a short plan.
EPISODE_LIMIT = 90.0
COLLECT_LIMIT = 180.0
# A report that was sent before the browser ended has arrived by then.
REPORT_GRACE = 1.0

HIDE = "#sync-task-cover, #click-canvas, #reward-display { display: none !important; pointer-events: none !important; }"
HEAD = f"<style>{HIDE}</style>"
BODY = '<script src="/harness/episode.js"></script>'

COLLECT = """<!DOCTYPE html><meta charset="utf-8"><title>Utterances</title><script>
addEventListener("load", async () => {
  for (const [task, seed] of LOADS) {
    const frame = document.createElement("iframe");
    frame.width = 332; frame.height = 214;
    frame.src = `/miniwob/${task}.html?seed=${seed}&load=harness`;
    document.body.append(frame);
    const said = await fetch(`/harness/utterance?task=${task}&seed=${seed}`);
    await said.text();
    frame.remove();
  }
});
</script><body></body>"""


class Ledger:
    """What pages reported, by load, task and seed. Shared by the server's threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._events: dict[tuple[str, str, int], dict[str, dict]] = collections.defaultdict(dict)

    def enter(self, event: dict) -> None:
        key = (str(event["load"]), str(event["task"]), int(event["seed"]))
        with self._changed:
            # The first of a kind counts: a page that loads again starts over.
            self._events[key].setdefault(str(event["kind"]), event)
            self._changed.notify_all()

    def wait(self, load: str, task: str, seed: int, kind: str, limit: float) -> dict | None:
        key = (load, task, seed)
        deadline = time.monotonic() + limit
        with self._changed:
            while kind not in self._events[key]:
                remaining = deadline - time.monotonic()
                if remaining <= 0 or not self._changed.wait(remaining):
                    return self._events[key].get(kind)
            return self._events[key][kind]


class Server(http.server.ThreadingHTTPServer):
    """Browsers drop connections whenever they like, which is nobody's error."""

    daemon_threads = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def handler_of(html: Path, ledger: Ledger, loads: list[tuple[str, int]]):
    """A request handler that serves the package's folder, the injected script, and takes reports."""
    script = (Path(__file__).parent / "episode.js").read_bytes()
    collect = COLLECT.replace("LOADS", json.dumps(loads)).encode()

    class Handler(http.server.SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def __init__(self, *arguments, **named):
            super().__init__(*arguments, directory=str(html), **named)

        def log_message(self, *_):
            pass

        def answer(self, body: bytes, kind: str, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.send_header("cache-control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            url = urllib.parse.urlsplit(self.path)
            if url.path == "/harness/episode.js":
                return self.answer(script, "text/javascript; charset=utf-8")
            if url.path == "/harness/collect":
                return self.answer(collect, "text/html; charset=utf-8")
            if url.path == "/harness/utterance":
                query = dict(urllib.parse.parse_qsl(url.query))
                ledger.wait("harness", query["task"], int(query["seed"]), "utterance", 20)
                return self.answer(b"", "text/plain")
            if url.path.startswith("/miniwob/") and url.path.endswith(".html"):
                file = html / "miniwob" / Path(url.path).name
                if not file.is_file():
                    return self.answer(b"", "text/plain", 404)
                # The files carry no charset; an element before the page's own is none of its business.
                page = file.read_text(encoding="utf-8")
                page = page.replace("</head>", HEAD + "</head>", 1).replace("</body>", BODY + "</body>", 1)
                return self.answer(page.encode(), "text/html; charset=utf-8")
            return super().do_GET()

        def do_POST(self):
            length = min(int(self.headers.get("content-length") or 0), 1 << 16)
            body = self.rfile.read(length)
            if self.path != "/harness/report":
                return self.answer(b"", "text/plain", 404)
            try:
                ledger.enter(json.loads(body))
            except (ValueError, KeyError, TypeError):
                return self.answer(b"", "text/plain", 400)
            return self.answer(b"", "text/plain")

    return Handler


def fetch_package() -> Path:
    """The folder `html` of the package, downloaded and unpacked once."""
    cache = WORK / "cache"
    unpacked = WORK / "miniwob"
    html = unpacked / "miniwob" / "html"
    if not html.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(cache), PACKAGE]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
        wheel = next(cache.glob("miniwob-*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(unpacked)
    return html


def collect_utterances(chrome: str, port: int, ledger: Ledger, loads: list[tuple[str, int]]) -> dict:
    """Loads every task with every seed in a plain Chrome and returns what each asks for."""
    with tempfile.TemporaryDirectory(prefix="miniwob-utterances-", ignore_cleanup_errors=True) as profile:
        command = [chrome, "--headless=new", "--no-first-run", f"--user-data-dir={profile}"]
        command += ["--no-sandbox"] if is_root() else []
        command += ["--remote-debugging-port=0", f"http://127.0.0.1:{port}/harness/collect"]
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            deadline = time.monotonic() + COLLECT_LIMIT
            said = {}
            for task, seed in loads:
                event = ledger.wait("harness", task, seed, "utterance", max(0.0, deadline - time.monotonic()))
                if event is None:
                    raise HarnessError(f"expected an utterance of {task} with seed {seed}, saw none")
                said[task, seed] = event["utterance"]
            return said
        finally:
            stop_group(child)


def is_root() -> bool:
    """Whether Chrome's sandbox refuses to start."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def run_episode(options: argparse.Namespace, port: int, ledger: Ledger, task: str, seed: int, utterance: str) -> dict:
    """One task, one seed, one `cuebook`."""
    origin = f"http://127.0.0.1:{port}"
    arguments = ["run", utterance, "--url", f"{origin}/miniwob/{task}.html?seed={seed}"]
    arguments += ["--planner", options.planner, "--viewport", VIEWPORT, "--timeout", STEP_TIMEOUT, "--json"]
    arguments += ["--profile", options.profile] if options.profile else []
    arguments += ["--out", str(WORK / "runs" / task)]
    for grant in GRANTS:
        arguments += ["--grant", f"{grant}@{origin}"]
    began = time.monotonic()
    answer = run_cuebook(options.cuebook, arguments, options.chrome, EPISODE_LIMIT)
    seconds = time.monotonic() - began
    event = ledger.wait("agent", task, seed, "reward", REPORT_GRACE)
    seen = ledger.wait("agent", task, seed, "utterance", 0)
    if seen is not None and seen["utterance"] != utterance:
        raise HarnessError(f"{task} with seed {seed} is not deterministic: {utterance!r}, then {seen['utterance']!r}")
    reward = event["reward"] if event else None
    return {
        "seed": seed,
        "utterance": utterance,
        "success": reward == 1,
        "reward": reward,
        "rewardReason": event["reason"] if event else None,
        "seconds": round(seconds, 2),
        "exitCode": answer.exit_code,
        "result": answer.result,
        "code": answer.code,
        "steps": [describe(step) for step in (answer.report or {}).get("steps") or []],
        "why": None if reward == 1 else failure_of(answer, reward, seen is not None),
        "runDir": relative((answer.report or {}).get("runDir")),
    }


def describe(step: dict) -> dict:
    """What is left of a report's step in the results."""
    action = step.get("action") or {}
    short = {key: action[key] for key in ("type", "targetRef", "text", "value", "option") if key in action}
    failure = step.get("failure") or {}
    return {**short, "result": step.get("result"), **({"cause": failure["cause"]} if failure.get("cause") else {})}


def failure_of(answer: Answer, reward: float | None, loaded: bool) -> str:
    """Why an episode did not end with a reward of 1: the task's word, then the report's."""
    if not loaded:
        task = "the page was not loaded"
    elif reward is None:
        task = "the episode did not end"
    else:
        task = f"reward {reward:g}"
    why = answer.why()
    return shorten(f"{task}; cuebook: {answer.result}" + (f", {why}" if why else ""))


def relative(path: str | None) -> str | None:
    """Below the repository where it can be: results are read elsewhere."""
    if path is None:
        return None
    try:
        return str(Path(path).resolve().relative_to(ROOT))
    except ValueError:
        return path


def summary(results: dict[str, list[dict]]) -> str:
    """The table and the failures behind it, in Markdown."""
    rows, failures = [], []
    for task, episodes in results.items():
        rows.append([task, *counts(episodes)])
        grouped = collections.defaultdict(list)
        for episode in episodes:
            if not episode["success"]:
                grouped[episode["reward"], episode["result"], episode["code"]].append(episode)
        for (_, _, code), alike in grouped.items():
            several = ", ".join(str(episode["seed"]) for episode in alike)
            seeds = "all" if len(alike) == len(episodes) else several
            failures.append([task, seeds, code or "–", alike[0]["why"]])
    rows.append(["**all**", *counts([episode for episodes in results.values() for episode in episodes])])
    text = table(["task", "reward 1", "of", "no reward, report ok", "median s"], rows)
    if not failures:
        return text + "\n\nNo episode failed."
    head = ["task", "seeds", "code", "why, of the first"]
    return text + "\n\nEvery episode without a reward of 1:\n\n" + table(head, failures)


def counts(episodes: list[dict]) -> list[float]:
    """Successes, episodes, successes that only the report believes in, seconds."""
    solved = sum(episode["success"] for episode in episodes)
    unaware = sum(not episode["success"] and episode["result"] == "ok" for episode in episodes)
    seconds = statistics.median(episode["seconds"] for episode in episodes)
    return [solved, len(episodes), unaware, round(seconds, 1)]


def missed(results: dict[str, list[dict]]) -> list[str]:
    """Tasks with more failures than are known and committed in `threshold.json`."""
    allowed = json.loads((Path(__file__).parent / "threshold.json").read_text(encoding="utf-8"))["miniwob"]
    complaints = []
    for task, episodes in results.items():
        failed = sum(not episode["success"] for episode in episodes)
        most = allowed.get(task, {}).get("failuresOf20", 20) * -(-len(episodes) // 20)
        if failed > most:
            complaints.append(f"{task}: expected at most {most} failures, saw {failed} of {len(episodes)}")
    return complaints


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default=",".join(TASKS), help="names, separated by commas, or `all`")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="so many seeds, from 0")
    parser.add_argument("--planner", default="lexical", help="as for `cuebook run`, such as `exec:python3 PROGRAM`")
    parser.add_argument("--profile", help="the profile of capabilities, such as `unleashed`")
    parser.add_argument("--jobs", type=int, default=2, help="episodes at a time")
    parser.add_argument("--cuebook", help="the executable; target/debug/cuebook unless stated")
    parser.add_argument("--chrome", help="the executable; $CHROME or the usual names unless stated")
    parser.add_argument("--docs", type=Path, help="a document whose block `miniwob` gets the table")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    options.chrome = find_chrome(options.chrome)
    options.cuebook = find_cuebook(options.cuebook)
    html = fetch_package()
    tasks = [task for task in options.tasks.split(",") if task]
    if tasks == ["all"]:
        tasks = sorted(file.stem for file in (html / "miniwob").glob("*.html"))
    for task in tasks:
        if not (html / "miniwob" / f"{task}.html").is_file():
            raise HarnessError(f"expected a task of {PACKAGE}, saw {task!r}")
    loads = [(task, seed) for task in tasks for seed in range(options.seeds)]
    ledger = Ledger()
    server = Server(("127.0.0.1", 0), handler_of(html, ledger, loads))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]

    print(f"MiniWoB++: {len(tasks)} tasks, {options.seeds} seeds each", file=sys.stderr)
    said = collect_utterances(options.chrome, port, ledger, loads)
    results: dict[str, list[dict]] = {}
    with ThreadPoolExecutor(max_workers=max(1, options.jobs)) as pool:
        for task in tasks:
            began = time.monotonic()
            episodes = list(
                pool.map(
                    lambda seed, task=task: run_episode(options, port, ledger, task, seed, said[task, seed]),
                    range(options.seeds),
                )
            )
            results[task] = episodes
            write_json(WORK / "miniwob" / f"{task}.json", {"task": task, "package": PACKAGE, "episodes": episodes})
            solved = sum(episode["success"] for episode in episodes)
            print(f"  {task}: {solved}/{len(episodes)} in {time.monotonic() - began:.0f} s", file=sys.stderr)
    server.shutdown()

    text = summary(results)
    print(text)
    if options.docs:
        write_block(options.docs, "miniwob", text)
    # The committed failures are those of the lexical planner.
    complaints = missed(results) if options.planner == "lexical" else []
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except HarnessError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
