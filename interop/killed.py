#!/usr/bin/env python3
"""Kills the client of `cuebook mcp`, the process of a session, and Chrome, each many times at a random moment of work, and
counts what is left: processes, profiles, sockets.

Every process that a round starts is a descendant of this one, orphans too (`PR_SET_CHILD_SUBREAPER`), and has its temporary
files in one folder: so nothing else is counted, or killed. Linux only.
"""

import asyncio
import contextlib
import ctypes
import multiprocessing
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from common import HarnessError, arguments_of, built_in_site, parsed, publish, run_harness, shorten, table
from mcp_client import CLIENT, Held, holding, with_package

ROUNDS = 100
SET_CHILD_SUBREAPER = 36
# Of the rounds, those that die after the first call; the others while everything starts.
AT_WORK = 0.75
# The longest time from then to the death.
LONGEST = 2.0
# Time for everything to be gone, or for a first call.
LIMIT = 30.0
POLL = 0.02
COMMAND_LIMIT = 90.0
# Commands until one has to work again.
TRIES = 3
# One of these is in what a call says that death interrupted; the first is what a command says that came right after it.
SAYS_WHAT_TO_DO = (
    "started the session",
    "the next command starts a new one",
    "the next call starts a new one",
    "call again to start a new one",
)


def become_subreaper() -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise HarnessError("expected a Linux that has subreapers")


def processes() -> dict[int, int]:
    """The parents of all processes that have not ended."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                state, parent = (entry / "stat").read_text(encoding="utf-8").rpartition(") ")[2].split(" ")[:2]
                if state not in "ZX":
                    parents[int(entry.name)] = int(parent)
    return parents


def words_of(process: int) -> list[str]:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").split("\0")
    return []


@dataclass
class World:
    """What this process has started, but for what was there before the first round."""

    temporary: Path
    before: set[int]

    @classmethod
    def at(cls, temporary: Path) -> "World":
        world = cls(temporary, set())
        world.before = set(world.processes())
        return world

    def processes(self) -> list[int]:
        parents = processes()
        own, found = os.getpid(), []
        for process in parents:
            above = process
            while above in parents and above != own:
                above = parents[above]
            if above == own and process != own and process not in self.before:
                found.append(process)
        return found

    def browsers(self) -> list[int]:
        """Without the shell that Debian starts Chrome by, and without Chrome's children."""
        profile = f"--user-data-dir={self.temporary}"
        words = {process: words_of(process) for process in self.processes()}
        return [
            process
            for process, line in words.items()
            if any(word.startswith(profile) for word in line)
            and not any(word.startswith("--type=") for word in line)
            and not line[0].endswith("/sh")
        ]

    def servers(self) -> list[int]:
        return [process for process in self.processes() if words_of(process)[1:2] == ["serve"]]

    def files(self) -> list[str]:
        """Profiles, their locks, sockets, and the records of sessions; folders of Chrome beside them."""
        found = [path for pattern in ("cuebook-*/*", "*Chrom*") for path in self.temporary.glob(pattern)]
        return sorted(str(path.relative_to(self.temporary)) for path in found)

    def clear(self) -> None:
        """Ends everything and removes the files, so that a round that went wrong spoils no other."""
        kill(self.processes())
        time.sleep(POLL)
        for pattern in ("cuebook-*", "*Chrom*"):
            for folder in self.temporary.glob(pattern):
                shutil.rmtree(folder, ignore_errors=True)

    def seconds_until_gone(self) -> float:
        began = time.monotonic()
        while left := self.processes():
            for process in left:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(process, os.WNOHANG)
            if time.monotonic() - began > LIMIT:
                lines = [shorten(" ".join(words_of(process)), 120) for process in left]
                raise Left(f"{len(left)} processes after {LIMIT} s: {'; '.join(lines)}")
            time.sleep(POLL)
        return time.monotonic() - began

    def must_be_empty(self) -> None:
        """Waits for files of dying processes."""
        until = time.monotonic() + LIMIT
        while files := self.files():
            if time.monotonic() > until:
                raise Left(f"files: {', '.join(files)}")
            time.sleep(POLL)


def kill(victims: list[int]) -> None:
    for process in victims:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def wait_until(is_so: Callable[[], object]) -> None:
    until = time.monotonic() + LIMIT
    while not is_so():
        if time.monotonic() > until:
            raise Left(f"nothing happened for {LIMIT} s")
        time.sleep(POLL)


class Left(Exception):
    """What a round left behind, or what did not work after it."""


@dataclass
class Tally:
    """What came of the rounds of one kind of death."""

    moments: Counter = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    wrong: Counter = field(default_factory=Counter)
    said: Counter = field(default_factory=Counter)
    rounds: int = 0

    def goes_wrong(self, how: str) -> None:
        self.wrong[how] += 1
        print(f"round {self.rounds}: {how}", file=sys.stderr, flush=True)

    def row(self, death: str) -> list[object]:
        moments = ", ".join(f"{count} {moment}" for moment, count in self.moments.most_common())
        gone = f"{statistics.median(self.seconds):.2f} ({max(self.seconds):.2f})" if self.seconds else ""
        return [death, self.rounds, moments, gone, sum(self.wrong.values())]


def rounds(world: World, count: int, one: Callable[[int, Tally], None]) -> Tally:
    tally = Tally()
    for index in range(count):
        tally.rounds += 1
        try:
            one(index, tally)
        except (Left, subprocess.TimeoutExpired) as left:
            tally.goes_wrong(str(left))
            world.clear()
    return tally


# --------------------------------------------------------------------------------- clients of MCP


async def busy(held: Held, origin: str, at: Callable[[str], None]) -> None:
    """Calls one tool after another, without end."""
    calls = [
        ("browser_navigate", {"url": f"{origin}/counter"}),
        ("browser_click", {"target": 'button "Count"'}),
        ("browser_snapshot", {}),
        ("browser_wait_for", {"time": 0.2}),
        ("browser_navigate", {"url": f"{origin}/shop"}),
        ("browser_take_screenshot", {}),
    ]
    while True:
        for tool, arguments in calls:
            at("in a call")
            await held.call(tool, **arguments)
            at("between calls")
            await asyncio.sleep(0.2)


def client(command: list[str], origin: str, moment: object) -> None:
    """What dies: a client that starts a server and calls its tools."""

    def at(name: str) -> None:
        moment.value = name.encode()

    async def works() -> None:
        async with holding(command) as held:
            await busy(held, origin, at)

    at("at the start")
    asyncio.run(works())


def clients_die(world: World, cuebook: str, origin: str, count: int, chance: random.Random) -> Tally:
    import mcp  # noqa: F401  # Children have it from here on.

    forking = multiprocessing.get_context("fork")
    command = [cuebook, "mcp", "--out", str(world.temporary / "runs"), "--quiet"]

    def one(_: int, tally: Tally) -> None:
        moment = forking.Array("c", 32, lock=False)
        child = forking.Process(target=client, args=(command, origin, moment))
        child.start()
        if chance.random() < AT_WORK:
            wait_until(lambda: moment.value == b"between calls" or child.exitcode is not None)
        time.sleep(chance.uniform(0.1, LONGEST))
        if child.exitcode is not None:
            raise Left(f"the client ended by itself with {child.exitcode}")
        child.kill()
        child.join()
        tally.moments[moment.value.decode() or "at the start"] += 1
        tally.seconds.append(world.seconds_until_gone())
        world.must_be_empty()

    return rounds(world, count, one)


# ------------------------------------------------------------------------------ sessions of a shell


class Shell:
    """Somebody who types commands on one session, until they are told to stop."""

    def __init__(self, cuebook: str, name: str, origin: str, out: Path) -> None:
        self.cuebook, self.name, self.origin = cuebook, name, origin
        self.environment = {**os.environ, "CUEBOOK_OUT": str(out)}
        self.is_stopped = threading.Event()
        self.moment = "at the start"
        self.odd: str | None = None
        self.thread = threading.Thread(target=self.types, daemon=True)

    def run(self, *words: str) -> tuple[int, str]:
        command = [self.cuebook, *words, "-s", self.name]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        done = subprocess.run(command, env=self.environment, timeout=COMMAND_LIMIT, **quiet)
        return done.returncode, done.stdout

    def types(self) -> None:
        commands = [
            ("open", f"{self.origin}/counter"),
            ("click", 'button "Count"'),
            ("snapshot",),
            ("wait", "--time", "0.2"),
            ("screenshot",),
        ]
        is_first = True
        while not self.is_stopped.is_set():
            for words in commands:
                if self.is_stopped.is_set():
                    return
                self.moment = "at the start" if is_first else "in a command"
                code, said = self.run(*words)
                is_first, self.moment = False, "between commands"
                if code != 0:
                    # The death came while this ran.
                    self.odd = said
                    return
                time.sleep(0.05)

    def dies(self, kill: Callable[[], None]) -> tuple[str, str | None]:
        """At which moment it died, and what the command that ran then said, if it failed."""
        self.is_stopped.set()
        moment = self.moment
        kill()
        self.thread.join()
        return moment, self.odd


def shells_lose(
    world: World, cuebook: str, origin: str, count: int, chance: random.Random, find: Callable[[], list[int]]
) -> Tally:
    """Each round: a session at work, a death, the command that ran then, the next one, and the end."""

    def one(index: int, tally: Tally) -> None:
        shell = Shell(cuebook, f"round-{index}", origin, world.temporary / "runs")
        shell.thread.start()
        wait_until(find)
        if chance.random() < AT_WORK:
            wait_until(lambda: shell.moment != "at the start")
        time.sleep(chance.uniform(0, LONGEST))
        found = find()
        moment, said = shell.dies(lambda: kill(find() or found))
        tally.moments[moment] += 1
        if said is not None:
            tally.said[shorten(said, 300)] += 1
            if not any(words in said for words in SAYS_WHAT_TO_DO) and moment != "at the start":
                tally.goes_wrong(f"a command did not say what to do: {shorten(said, 300)}")
        if find is world.servers:
            tally.seconds.append(world.seconds_until_gone())
        began = time.monotonic()
        for _ in range(TRIES):
            code, said = shell.run("open", f"{origin}/counter")
            if code == 0:
                break
            # A session that lived on says that its browser is gone, and ends.
            tally.said[shorten(said, 300)] += 1
            if not any(words in said for words in SAYS_WHAT_TO_DO):
                tally.goes_wrong(f"the next command failed and did not say what to do: {shorten(said, 300)}")
        if code != 0 or 'button "Count"' not in said:
            raise Left(f"the next command failed with {code}: {shorten(said, 300)}")
        if find is not world.servers:
            tally.seconds.append(time.monotonic() - began)
        code, said = shell.run("close")
        if code != 0:
            raise Left(f"close failed with {code}: {shorten(said, 300)}")
        world.seconds_until_gone()
        world.must_be_empty()

    return rounds(world, count, one)


# --------------------------------------------------------------------------- Chrome of an MCP server


async def browsers_die(world: World, cuebook: str, origin: str, count: int, chance: random.Random) -> Tally:
    """One server all the time: each round a browser at work dies, and the next call has to work."""
    tally = Tally()
    async with holding([cuebook, "mcp", "--out", str(world.temporary / "runs"), "--quiet"]) as held:
        for _ in range(count):
            tally.rounds += 1
            moment = ["at the start"]
            work = asyncio.create_task(busy(held, origin, lambda name, moment=moment: moment.__setitem__(0, name)))
            while not (world.browsers() or work.done()):
                await asyncio.sleep(POLL)
            await asyncio.sleep(chance.uniform(0, LONGEST))
            kill(world.browsers())
            tally.moments[moment[0]] += 1
            began = time.monotonic()
            try:
                await asyncio.wait_for(work, LIMIT)
            except HarnessError as error:
                said = str(error)
            except TimeoutError:
                said = "no answer"
            tally.said[shorten(said, 300)] += 1
            _, text = await held.call("browser_navigate", may_fail=True, url=f"{origin}/counter")
            tally.seconds.append(time.monotonic() - began)
            if not any(words in said for words in SAYS_WHAT_TO_DO) or 'button "Count" [c' not in text:
                tally.goes_wrong(shorten(f"{said}; then {text}", 600))
            browsers = [shorten(" ".join(words_of(process)), 200) for process in world.browsers()]
            if len(browsers) > 1:
                tally.goes_wrong(f"browsers: {browsers}")
    try:
        world.seconds_until_gone()
        world.must_be_empty()
    except Left as left:
        tally.goes_wrong(str(left))
    return tally


def main() -> int:
    parser = arguments_of(__doc__, "killed")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"deaths of each kind; {ROUNDS} unless stated")
    parser.add_argument("--seed", type=int, default=0, help="what the moments are drawn from")
    parser.add_argument("--only", choices=("client", "session", "browser", "server"), help="one kind of death only")
    options = parsed(parser)
    become_subreaper()
    os.environ["CHROME"] = options.chrome
    os.environ.pop("XDG_RUNTIME_DIR", None)
    chance = random.Random(options.seed)
    with TemporaryDirectory(prefix="cuebook-") as folder, built_in_site(options.cuebook) as origin:
        os.environ["TMPDIR"] = folder
        world = World.at(Path(folder))
        given = (world, options.cuebook, origin, options.rounds, chance)
        deaths = {
            "client": ("the client of `cuebook mcp`", lambda: clients_die(*given)),
            "session": ("the process of a session of a shell", lambda: shells_lose(*given, world.servers)),
            "browser": ("Chrome of a session of a shell", lambda: shells_lose(*given, world.browsers)),
            "server": ("Chrome of `cuebook mcp`", lambda: asyncio.run(browsers_die(*given))),
        }
        rows, wrong = [], 0
        try:
            for name, (death, dies) in deaths.items():
                if options.only in (None, name):
                    tally = dies()
                    rows.append(tally.row(death))
                    wrong += sum(tally.wrong.values())
                    for said, times in tally.said.most_common():
                        print(f"{name}: {times} times: {said}", flush=True)
        finally:
            world.clear()
    seconds = "s until all is gone, or the next call is answered: median (most)"
    head = ["SIGKILL of", "times", "moments", seconds, "left or wrong"]
    publish(options, "killed", f"`{CLIENT}`.\n\n" + table(head, rows))
    return 1 if wrong else 0


if __name__ == "__main__":
    run_harness(lambda: with_package(main))
