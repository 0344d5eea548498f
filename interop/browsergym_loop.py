#!/usr/bin/env python3
"""Plays the same MiniWoB++ episodes with BrowserGym's loop and with `cuebook eval`, and counts episodes a minute.

One episode at a time on either side, in the same Chrome, in alternating batches. BrowserGym (PyPI) runs in an
environment of its own: there this file is started with `--play`, and prints a line of JSON for each episode. Its
policies read what an agent on BrowserGym reads: the goal, and the texts that BrowserGym makes of its observation.

An episode counts as solved if the raw reward of its page is exactly 1.
"""

import argparse
import ast
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

from common import (
    ROOT,
    WORK,
    HarnessError,
    arguments_of,
    find_chrome,
    find_cuebook,
    publish,
    run_harness,
    shorten,
    table,
    write_json,
)

PACKAGE = "browsergym-miniwob==0.14.3"
VENV = WORK / "browsergym"
SUITE = ROOT / "eval" / "miniwob.toml"
# What `cargo xtask fetch` leaves.
PAGES = "miniwob==1.1.0"
HTML = ROOT / "target" / "eval" / "miniwob" / "miniwob" / "html"
# BrowserGym draws the seed of the page: `numpy.random.RandomState(seed).randint(0, 1000000)`. With these it draws 0, 1,
# 2, …, which are the seeds of `cuebook eval`; the smallest ones, found by trying. Each episode checks its own.
ENV_SEEDS = (
    280681, 872866, 1473107, 3310561, 2187114, 982475, 183568, 2936949, 782318, 159119,
    544618, 95769, 493878, 591231, 184728, 292544, 125217, 2228527, 2011302, 1728628,
)  # fmt: skip
DRAWN_BELOW = 1_000_000
SEEDS = 10
ROUNDS = 5
# How much faster `cuebook` has to be than BrowserGym as it comes.
FACTOR = 2.0
# Of the episodes on either side: below, the loops were not compared at the same work.
SOLVED = 0.95
# For one batch, in seconds.
BATCH_LIMIT = 1800.0
CUEBOOK = "cuebook"


# The policies: from the goal and BrowserGym's texts to the actions of an episode.

STRING = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
LINE = re.compile(rf"\s*\[(?P<bid>\w+)\] (?P<role>\w+) (?P<name>{STRING})")
SPAN = re.compile(r'<span bid="(?P<bid>\w+)"[^>]*>(?P<text>.*?)</span>', re.DOTALL)


class Page:
    """What a policy sees."""

    def __init__(self, goal: str, axtree: str, dom: str) -> None:
        self.goal = goal
        found = filter(None, map(LINE.match, axtree.splitlines()))
        self._elements = [(one["bid"], one["role"], str(ast.literal_eval(one["name"]))) for one in found]
        self._dom = dom

    def quoted(self) -> list[str]:
        return re.findall(r'"([^"]*)"', self.goal)

    def all(self, role: str) -> list[str]:
        return [bid for bid, own, _ in self._elements if own == role]

    def named(self, role: str, name: str) -> str:
        for bid, own, text in self._elements:
            if (own, text) == (role, name):
                return bid
        raise LookupError(f"no {role} named {name!r}")

    def span(self, text: str) -> str:
        """The accessibility tree names no element that has no role."""
        for one in SPAN.finditer(self._dom):
            if one["text"].strip() == text:
                return one["bid"]
        raise LookupError(f"no span with {text!r}")


def click(bid: str) -> str:
    return f"click({bid!r})"


def fill(bid: str, text: str) -> str:
    return f"fill({bid!r}, {text!r})"


def press_named(page: Page) -> list[str]:
    return [click(page.named("button", page.quoted()[0]))]


def press_in_order(page: Page) -> list[str]:
    return [click(page.named("button", name)) for name in re.findall(r"button (\w+)", page.goal)]


def enter_text(page: Page) -> list[str]:
    return [fill(page.all("textbox")[0], page.quoted()[0]), click(page.named("button", "Submit"))]


def enter_password(page: Page) -> list[str]:
    fills = [fill(bid, page.quoted()[0]) for bid in page.all("textbox")]
    return [*fills, click(page.named("button", "Submit"))]


def log_in(page: Page) -> list[str]:
    fills = [fill(bid, text) for bid, text in zip(page.all("textbox"), page.quoted(), strict=True)]
    return [*fills, click(page.named("button", "Login"))]


def choose(page: Page) -> list[str]:
    label = re.fullmatch(r"Select (.+) from the list and click Submit\.", page.goal)[1]
    return [f"select_option({page.all('combobox')[0]!r}, {label!r})", click(page.named("button", "Submit"))]


def tick(page: Page) -> list[str]:
    names = re.fullmatch(r"Select (.+) and click Submit\.", page.goal)[1].split(", ")
    role = "radio" if page.all("radio") else "checkbox"
    ticks = [click(page.named(role, name)) for name in names if name != "nothing"]
    return [*ticks, click(page.named("button", "Submit"))]


POLICIES = {
    "click-button": press_named,
    "click-button-sequence": press_in_order,
    "click-test-2": press_in_order,
    "click-link": lambda page: [click(page.span(page.quoted()[0]))],
    "click-tab": lambda page: [click(page.named("link", re.search(r"Tab #\d", page.goal)[0]))],
    "click-dialog": lambda page: [click(page.named("button", "Close"))],
    "click-checkboxes": tick,
    "click-option": tick,
    "choose-list": choose,
    "enter-text": enter_text,
    "enter-password": enter_password,
    "login-user": log_in,
}


# BrowserGym's side, in its own environment.

LOOPS = {
    "default": {
        "title": "BrowserGym as it comes",
        "options": {},
        "actionsTogether": False,
        "browserKept": False,
    },
    "noWaits": {
        "title": "BrowserGym, `pre_observation_delay` and `slow_mo` 0",
        "options": {"pre_observation_delay": 0, "slow_mo": 0},
        "actionsTogether": False,
        "browserKept": False,
    },
    "patched": {
        "title": "the same, an episode's actions in one step, patched to keep its browser",
        "options": {"pre_observation_delay": 0, "slow_mo": 0},
        "actionsTogether": True,
        "browserKept": True,
    },
}
PHASES = ("start", "policy", "act", "wait", "judge", "observe", "close")


def play(order: dict) -> None:
    """Plays a batch and prints a line for each episode, then one for the batch."""
    import logging

    import gymnasium
    from browsergym.core import _get_global_playwright
    from playwright.sync_api import BrowserType

    import browsergym.miniwob  # noqa: F401, registers the environments

    # It warns of every option that overrides one of the task.
    logging.getLogger("browsergym").setLevel(logging.ERROR)
    loop = LOOPS[order["loop"]]
    kept = keep_to(BrowserType, order["chrome"], loop["browserKept"])
    began = time.monotonic()
    for task in order["tasks"]:
        for seed in order["seeds"]:
            print(json.dumps(play_episode(gymnasium, loop, task, seed)), flush=True)
    for browser in kept:
        browser.close()
    seconds = time.monotonic() - began
    _get_global_playwright().stop()
    print(json.dumps({"batchSeconds": seconds, "browser": order["chrome"]}), flush=True)


def keep_to(browser_type, chrome: str, is_kept: bool) -> list:
    """Has all browsers started from `chrome`: that of BrowserGym's chat takes no options. `is_kept`: only one."""
    launch = browser_type.launch
    kept: list = []

    def from_chrome(self, **options):
        if is_kept and kept:
            return Kept(kept[0])
        browser = launch(self, executable_path=chrome, **options)
        if not is_kept:
            return browser
        kept.append(browser)
        return Kept(browser)

    browser_type.launch = from_chrome
    return kept


class Kept:
    """A browser that others still need."""

    def __init__(self, browser) -> None:
        self._browser = browser

    def __getattr__(self, name: str):
        return getattr(self._browser, name)

    def close(self) -> None:
        pass


def play_episode(gymnasium, loop: dict, task: str, seed: int) -> dict:
    """An environment of its own, as BrowserGym's agents have it: make, reset, steps, close."""
    import numpy
    from browsergym.utils.obs import flatten_axtree_to_str, flatten_dom_to_str

    env_seed = ENV_SEEDS[seed]
    drawn = int(numpy.random.RandomState(env_seed).randint(0, DRAWN_BELOW))
    if drawn != seed:
        raise HarnessError(f"expected that seed {env_seed} draws {seed}, saw {drawn}")
    began = time.monotonic()
    spent = dict.fromkeys(PHASES, 0.0)
    env = gymnasium.make(f"browsergym/miniwob.{task}", disable_env_checker=True, **loop["options"])
    seen, _ = env.reset(seed=env_seed)
    spent["start"] = time.monotonic() - began

    since = time.monotonic()
    texts = flatten_axtree_to_str(seen["axtree_object"]), flatten_dom_to_str(seen["dom_object"])
    actions, error = [], None
    try:
        actions = POLICIES[task](Page(seen["goal"], *texts))
    except (LookupError, TypeError, ValueError) as missing:
        error = f"{type(missing).__name__}: {missing}"
    if loop["actionsTogether"]:
        actions = ["\n".join(actions)]
    spent["policy"] = time.monotonic() - since

    raw, steps = None, []
    for action in actions:
        since = time.monotonic()
        seen, _, is_over, _, info = env.step(action)
        step = {
            "act": info["action_exec_stop"] - info["action_exec_start"],
            "wait": info["wait_for_page_loading_stop"] - info["wait_for_page_loading_start"],
            "judge": info["validation_stop"] - info["validation_start"],
            "observe": info["get_observation_stop"] - info["get_observation_start"],
        }
        for phase, seconds in step.items():
            spent[phase] += seconds
        steps.append(round((time.monotonic() - since) * 1000))
        error = seen["last_action_error"] or error
        # `reward` of BrowserGym is 1 for any that is above 0.
        raw = info["task_info"].get("RAW_REWARD_GLOBAL")
        if is_over:
            break
    browser = env.unwrapped.browser.version
    since = time.monotonic()
    env.close()
    spent["close"] = time.monotonic() - since
    return {
        "task": task,
        "seed": seed,
        "instruction": seen["goal"],
        "reward": raw,
        "isSolved": raw == 1,
        "steps": len(steps),
        "stepMs": steps,
        "seconds": time.monotonic() - began,
        "phases": spent,
        "error": error,
        "browser": browser,
    }


# The harness.


def venv_python() -> Path:
    """The Python of BrowserGym's environment, which is made once."""
    python = VENV / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not python.is_file():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    marker = VENV / PACKAGE
    if not marker.is_file():
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
        marker.touch()
    return python


def versions(python: Path) -> dict[str, str]:
    """What is installed there."""
    names = ("browsergym-miniwob", "browsergym-core", "playwright", "gymnasium", "numpy")
    program = "import json, sys; from importlib.metadata import version; "
    program += "print(json.dumps({name: version(name) for name in sys.argv[1:]}))"
    printed = subprocess.run([str(python), "-c", program, *names], check=True, capture_output=True, text=True)
    return json.loads(printed.stdout)


def browsergym_batch(options: argparse.Namespace, python: Path, loop: str, seeds: range) -> dict:
    """The episodes of one batch, and how long they took without the start of Python and its imports."""
    order = {"loop": loop, "tasks": options.tasks, "seeds": list(seeds), "chrome": options.chrome}
    env = {**os.environ, "MINIWOB_URL": f"{(HTML / 'miniwob').as_uri()}/", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [str(python), __file__, "--play", json.dumps(order)]
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=BATCH_LIMIT, check=False)
    except subprocess.TimeoutExpired as expired:
        raise HarnessError(f"a batch of BrowserGym's did not end within {BATCH_LIMIT:.0f} s") from expired
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines or "batchSeconds" not in lines[-1]:
        raise HarnessError(f"BrowserGym's loop ended with {done.returncode}: {shorten(done.stderr[-2000:], 600)}")
    *episodes, batch = lines
    return {"seconds": batch["batchSeconds"], "episodes": episodes}


def suite_of(options: argparse.Namespace) -> Path:
    """`eval/miniwob.toml` with these tasks only: `--task` takes parts of names, too."""
    head, skipped, _ = SUITE.read_text(encoding="utf-8").partition("[skipped]")
    places = {
        '"../target/eval/miniwob/miniwob/html"': json.dumps(str(HTML)),
        '"miniwob_oracle.py"': json.dumps(str(SUITE.parent / "miniwob_oracle.py")),
    }
    for relative, absolute in places.items():
        if relative not in head or not skipped:
            raise HarnessError(f"expected {relative} in the head of {SUITE.name}")
        head = head.replace(relative, absolute)
    path = WORK / "browsergym.toml"
    path.write_text(head + "".join(f'[[task]]\nname = "{task}"\n' for task in options.tasks), encoding="utf-8")
    return path


def cuebook_batch(options: argparse.Namespace, suite: Path, seeds: range) -> dict:
    """The same episodes by `cuebook eval`, with the start and end of its process."""
    out = WORK / "browsergym-eval" / f"{seeds.start}-{seeds.stop}"
    command = [options.cuebook, "eval", "--suite", str(suite), "--seeds", f"{seeds.start}..{seeds.stop}"]
    command += ["--planner", "oracle", "--jobs", "1", "--out", str(out), "--fresh", "--json"]
    # The oracle is a program of many files, which starts with each episode.
    env = {**os.environ, "CHROME": options.chrome, "PYTHONPYCACHEPREFIX": str(WORK / "pycache")}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.monotonic()
    child = subprocess.Popen(
        command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    complaints = child.stderr.read()
    processor = processor_seconds(child.pid)
    child.wait()
    seconds = time.monotonic() - began
    if child.returncode != 0:
        raise HarnessError(f"cuebook eval ended with {child.returncode}: {shorten(complaints[-2000:], 600)}")
    lines = (out / "episodes.jsonl").read_text(encoding="utf-8").splitlines()
    return {
        "seconds": seconds,
        "processorSeconds": processor,
        "episodes": [cuebook_episode(json.loads(line)) for line in lines],
    }


def cuebook_episode(result: dict) -> dict:
    log = [json.loads(line) for line in (Path(result["runDir"]) / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    return {
        "task": result["task"],
        "seed": result["seed"],
        "instruction": log[0].get("task"),
        "isSolved": result["outcome"] == "solved",
        "steps": result["steps"],
        "seconds": result["durationMs"] / 1000,
        "error": result.get("why"),
        "parts": steps_of(log),
        "browser": log[0].get("browser"),
    }


def processor_seconds(pid: int) -> float | None:
    """What a child has used of the processors by its end, without children of its own. It is not waited for yet."""
    if not hasattr(os, "waitid") or not Path("/proc/self/stat").is_file():
        return None
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    # proc(5): the name may have spaces; utime and stime are the 14th and 15th field.
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


TIMINGS = ("resolve", "actionable", "act", "post")
PARTS = ("look", "plan", *TIMINGS, "before", "within", "own")


def steps_of(log: list[dict]) -> list[dict]:
    """Where the time of each step went, in milliseconds, from the end of what was before it.

    `look` ends with the observation that the step or its plan is decided on, `plan` is the call of the planner, the
    next four are the record's timings. `own` is the rest: `before` the step began, and `within` it.
    """
    until = log[0]["tsMs"]
    steps, look, plan, begun = [], 0, 0, None
    seen_at = until
    for entry in log[1:]:
        match entry["entry"]:
            case "observed":
                look += entry["tsMs"] - seen_at
                seen_at = entry["tsMs"]
            case "planning":
                plan += entry["call"]["latencyMs"]
                seen_at = entry["tsMs"]
            case "begin":
                begun = entry["tsMs"]
            case "commit" if begun is not None:
                execution = entry["execution"]
                ended = execution["tsMs"] + execution["durationMs"]
                timings = {name: execution["timings"][f"{name}Ms"] for name in TIMINGS}
                before = begun - until - look - plan
                within = execution["durationMs"] - sum(timings.values())
                own = {"before": before, "within": within, "own": before + within}
                steps.append({"look": look, "plan": plan, **timings, **own})
                until, seen_at, look, plan, begun = ended, ended, 0, 0, None
    return steps


def quantile(values: list[float], share: float) -> float:
    """By the nearest rank."""
    ordered = sorted(values)
    return ordered[max(0, -(-int(share * 1000) * len(ordered) // 1000) - 1)]


def same_instructions(gym: list[dict], ours: list[dict]) -> dict:
    """Compares what each side was asked for. Logs have no passwords: where one was, any text will do."""
    asked = {(one["task"], one["seed"]): " ".join(one["instruction"].split()) for one in gym}
    redacted, different = 0, []
    for one in ours:
        words = " ".join((one["instruction"] or "").split())
        pattern = r"\S+".join(map(re.escape, words.split("[redacted]")))
        redacted += "[redacted]" in words
        if not re.fullmatch(pattern, asked.get((one["task"], one["seed"]), "")):
            different.append(f"{one['task']} with seed {one['seed']}")
    if different:
        raise HarnessError(f"expected the same instructions on both sides, saw others for {', '.join(different)}")
    return {"compared": len(ours), "same": len(ours), "withoutTheirPassword": redacted}


def side(batches: list[dict]) -> dict:
    """What both kinds of loops have in common."""
    episodes = [episode for batch in batches for episode in batch["episodes"]]
    rates = [60 * len(batch["episodes"]) / batch["seconds"] for batch in batches]
    by_task = {}
    for episode in episodes:
        by_task.setdefault(episode["task"], []).append(episode)
    return {
        "episodes": len(episodes),
        "solved": sum(episode["isSolved"] for episode in episodes),
        "steps": sum(episode["steps"] for episode in episodes),
        "perMinute": round(statistics.median(rates), 1),
        "batchesPerMinute": [round(rate, 1) for rate in rates],
        "loads": [batch["load"] for batch in batches],
        "tasks": {
            task: {
                "solved": sum(episode["isSolved"] for episode in own),
                "of": len(own),
                "medianSeconds": round(statistics.median(episode["seconds"] for episode in own), 2),
            }
            for task, own in by_task.items()
        },
        "failures": [
            {"task": episode["task"], "seed": episode["seed"], "error": shorten(episode["error"] or "", 500)}
            for episode in episodes
            if not episode["isSolved"]
        ],
    }


def browsergym_side(loop: str, batches: list[dict]) -> dict:
    episodes = [episode for batch in batches for episode in batch["episodes"]]
    steps = max(1, sum(episode["steps"] for episode in episodes))
    total = {phase: sum(episode["phases"][phase] for episode in episodes) for phase in PHASES}
    per_episode = {phase: round(1000 * total[phase] / len(episodes)) for phase in ("start", "policy", "close")}
    per_step = {phase: round(1000 * total[phase] / steps) for phase in ("act", "wait", "judge", "observe")}
    return {
        "loop": loop,
        **LOOPS[loop],
        **side(batches),
        "meanMsPerEpisode": per_episode,
        "meanMsPerStep": per_step,
    }


def cuebook_side(batches: list[dict]) -> dict:
    episodes = [episode for batch in batches for episode in batch["episodes"]]
    parts = [step for episode in episodes for step in episode["parts"]]
    both = {name: [step[name] for step in parts] for name in PARTS}
    # The first step of a page also pays for what is set up once.
    both["ownLater"] = [step["own"] for episode in episodes for step in episode["parts"][1:]] or [0]
    processor = [batch["processorSeconds"] for batch in batches]
    agent = sum(episode["seconds"] for episode in episodes)
    wall = sum(batch["seconds"] for batch in batches)
    return {
        "loop": CUEBOOK,
        "title": "`cuebook eval`",
        **side(batches),
        "meanMsPerEpisode": {
            "agent": round(1000 * agent / len(episodes)),
            "openingAndClosing": round(1000 * (wall - agent) / len(episodes)),
        },
        "stepMs": {name: {"p50": quantile(own, 0.5), "p99": quantile(own, 0.99)} for name, own in both.items()},
        "processorMsPerStep": None if None in processor else round(1000 * sum(processor) / max(1, len(parts)), 1),
    }


def summary(results: dict) -> str:
    """The tables, in Markdown."""
    sides = results["sides"]
    own = next(one for one in sides if one["loop"] == CUEBOOK)
    rows = []
    for one in sides:
        rates = one["batchesPerMinute"]
        rate = f"**{one['perMinute']}** ({min(rates)}–{max(rates)})"
        factor = "–" if one is own else f"{own['perMinute'] / one['perMinute']:.1f} times"
        rows.append([one["title"], one["episodes"], one["solved"], rate, factor])
    head = ["loop", "episodes", "reward 1", "a minute, median (least–most)", "cuebook is faster by"]
    gyms = [one for one in sides if one is not own]
    loops = [[one["title"], *one["meanMsPerEpisode"].values(), *one["meanMsPerStep"].values()] for one in gyms]
    loop_head = ["mean ms", "start", "policy", "close", "act", "wait", "judge", "observe"]
    names = {
        "own": "the controller's overhead: all that is not below",
        "before": "of it, before the step begins",
        "within": "of it, within the step",
        "ownLater": "the overhead of steps that are not the first of their episode",
        "look": "looking at the page, until it has settled",
        "plan": "the planner",
        "resolve": "finding the target",
        "actionable": "waiting until it can be acted on",
        "act": "input",
        "post": "waiting for postconditions",
    }
    steps = [[words, own["stepMs"][name]["p50"], own["stepMs"][name]["p99"]] for name, words in names.items()]
    known, load = results["versions"], max(max(one["loads"]) for one in sides)
    about = (
        f"{results['rounds']} batches of {results['episodesPerBatch']} episodes a side; {results['cores']} cores, "
        f"{results['platform']}; {results['browser']}; browsergym-miniwob {known['browsergym-miniwob']}, playwright "
        f"{known['playwright']}; cuebook {known['cuebook']}. Load average before a batch: at most {load}."
    )
    parts = [
        about,
        table(head, rows),
        "BrowserGym's time, the first three for each episode, the others for each step:",
        table(loop_head, loops),
        "`cuebook`'s time, for each step:",
        table(["ms", "p50", "p99"], steps),
    ]
    if own["processorMsPerStep"] is not None:
        used = f"The process itself used {own['processorMsPerStep']} ms of a processor for each step"
        parts.append(f"{used}, with its start, its server of the pages, and all that it does between steps.")
    return "\n\n".join(parts)


def missed(sides: list[dict]) -> list[str]:
    """What was to be shown and was not."""
    complaints = []
    for one in sides:
        if one["solved"] < SOLVED * one["episodes"]:
            complaints.append(f"{one['title']}: expected {SOLVED:.0%} solved, saw {one['solved']} of {one['episodes']}")
    rates = {one["loop"]: one["perMinute"] for one in sides}
    if rates[CUEBOOK] < FACTOR * rates["default"]:
        saw = f"{rates[CUEBOOK]} and {rates['default']}"
        complaints.append(f"expected at least {FACTOR:g} times as many episodes a minute as BrowserGym's, saw {saw}")
    return complaints


def arguments() -> argparse.Namespace:
    parser = arguments_of(__doc__, "browsergym")
    parser.add_argument("--tasks", default=",".join(POLICIES), help="names, separated by commas")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"so many seeds, from 0; at most {len(ENV_SEEDS)}")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="batches on each side, which share the seeds")
    parser.add_argument("--json", type=Path, help="a file for the numbers")
    parser.add_argument("--play", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    options = arguments()
    if options.play:
        play(json.loads(options.play))
        return 0
    options.chrome = find_chrome(options.chrome)
    options.cuebook = find_cuebook(options.cuebook)
    options.tasks = [task for task in options.tasks.split(",") if task]
    unknown = [task for task in options.tasks if task not in POLICIES]
    if unknown:
        raise HarnessError(f"expected tasks of {', '.join(POLICIES)}, saw {', '.join(unknown)}")
    if not 0 < options.seeds <= len(ENV_SEEDS) or options.seeds % options.rounds:
        raise HarnessError(f"expected at most {len(ENV_SEEDS)} seeds that {options.rounds} rounds share evenly")
    if not HTML.is_dir():
        raise HarnessError(f"expected the pages of {PAGES} in {HTML}; run `cargo xtask fetch`")
    python = venv_python()
    suite = suite_of(options)
    per_round = options.seeds // options.rounds
    loops = [CUEBOOK, *LOOPS]
    batches: dict[str, list[dict]] = {loop: [] for loop in loops}
    for number in range(options.rounds):
        seeds = range(number * per_round, (number + 1) * per_round)
        # Whoever begins finds the files of the pages cold.
        first = number % len(loops)
        for loop in loops[first:] + loops[:first]:
            load = round(os.getloadavg()[0], 2)
            if loop == CUEBOOK:
                batch = cuebook_batch(options, suite, seeds)
            else:
                batch = browsergym_batch(options, python, loop, seeds)
            batches[loop].append({**batch, "load": load})
            solved, of = sum(one["isSolved"] for one in batch["episodes"]), len(batch["episodes"])
            rate = 60 * of / batch["seconds"]
            print(f"  round {number + 1}, {loop}: {solved}/{of}, {rate:.1f} a minute, load {load}", file=sys.stderr)

    def episodes(loop: str) -> list[dict]:
        return [episode for batch in batches[loop] for episode in batch["episodes"]]

    printed = subprocess.run([options.cuebook, "--version"], check=True, capture_output=True, text=True).stdout.split()
    sides = [cuebook_side(batches[CUEBOOK]), *(browsergym_side(loop, batches[loop]) for loop in LOOPS)]
    browsers = {re.sub(r"^\D*", "", one["browser"]) for loop in loops for one in episodes(loop)}
    if len(browsers) != 1:
        raise HarnessError(f"expected one version of Chrome on both sides, saw {', '.join(sorted(browsers))}")
    results = {
        "command": "cargo xtask interop --only browsergym --docs",
        "measuredOn": datetime.date.today().isoformat(),
        "platform": f"{platform.system().lower()} {platform.machine()}",
        "cores": os.cpu_count(),
        "browser": f"Chrome {browsers.pop()}",
        "versions": {"cuebook": printed[-1], "miniwob": PAGES.partition("==")[2], **versions(python)},
        "tasks": options.tasks,
        "seeds": options.seeds,
        "rounds": options.rounds,
        "episodesPerBatch": per_round * len(options.tasks),
        "instructions": same_instructions(episodes("default"), episodes(CUEBOOK)),
        "sides": sides,
    }
    text = summary(results)
    if options.json:
        write_json(options.json, results)
    publish(options, "browsergym", text)
    complaints = missed(sides)
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    run_harness(main)
