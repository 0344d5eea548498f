#!/usr/bin/env python3
"""The same work through five ways to drive one Chrome: `cuebook mcp` and `@playwright/mcp` by the client of PyPI's `mcp`;
`cuebook`, `playwright-cli` and `agent-browser` in a shell, each with the commands that its own guide recommends.

Each shows and presses pages of 100, 1,000 and 10,000 buttons, looks, presses and looks again, and opens and fills a form of six
fields, which the server of the page has to get. Who was shown something need not look at it again. Measured are the time of a call, as a client or a shell sees it, and the bytes and
tokens of what is sent and answered. A round of one follows a round of the other.
"""

import asyncio
import datetime
import json
import os
import platform
import re
import shlex
import statistics
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar, Protocol
from urllib.parse import parse_qs, urlsplit

from common import ROOT, WORK, HarnessError, arguments_of, parsed, publish, run_harness, shorten, table, write_json
from mcp_client import CLIENT, holding, node_package, with_package

PLAYWRIGHT_MCP = "@playwright/mcp@0.0.83"
PLAYWRIGHT_CLI = "@playwright/cli@0.1.22"
AGENT_BROWSER = "agent-browser@0.41.2"
TOKENIZER = "gpt-tokenizer@4.0.0"
SIZES = (100, 1_000, 10_000)
ROUNDS = 5
CLICKS = 5
COMMAND_LIMIT = 120.0
ARRIVAL = 10.0
VALUES = {f"Field {n}": f"value {n}" for n in range(6)}
ID = re.compile(r'"(?P<name>(?:Button|Field) \d+|Next)"[^\n]*?\[(?:[^\]\n]*ref=)?(?P<id>[a-z][a-z0-9]*\d)\]')
COUNT_TOKENS = """
const { countTokens } = require(process.argv[1] + "/node_modules/gpt-tokenizer");
const texts = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(texts.map((text) => countTokens(text, { allowedSpecial: "all" }))));
"""


class Pages(BaseHTTPRequestHandler):
    """Buttons that write what was pressed, and a form."""

    sent: ClassVar[list[dict[str, str]]] = []

    def do_GET(self) -> None:
        place = urlsplit(self.path)
        count = int((re.search(r"\d+", place.path) or [0])[0])
        if place.path.startswith("/form"):
            fields = "".join(f"<p><label>{name} <input name='{name}'></label></p>" for name in VALUES)
            body = f'<h1>Form</h1><form action="/done">{fields}<button>Next</button></form>'
        elif place.path.startswith("/done"):
            self.sent.append({name: values[0] for name, values in parse_qs(place.query).items()})
            body = "<h1>Done</h1>"
        else:
            pressed = "document.getElementById('out').textContent = 'pressed ' + this.textContent"
            buttons = "".join(f'<button onclick="{pressed}">Button {n}</button>' for n in range(count))
            body = f"<h1>Buttons</h1><p id=out>none</p>{buttons}"
        page = f"<!doctype html><title>Page</title>{body}".encode()
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@dataclass(frozen=True)
class Call:
    """What a model writes and reads in one call, and how long it takes."""

    sent: str
    answer: str
    ms: float


class Way(Protocol):
    """A way to drive a browser. A session of it lasts one round."""

    name: str

    async def start(self, stack: AsyncExitStack, url: str) -> list[Call]:
        """Starts a session, with everything that it needs, and opens a page."""

    async def open(self, url: str) -> Call: ...

    async def look(self) -> Call:
        """Shows what can be acted on, with ids."""

    async def look_again(self) -> Call:
        """Shows the text of the page too."""

    async def click(self, target: str) -> Call: ...

    async def fill(self, values: dict[str, str]) -> list[Call]:
        """Sets fields by their ids."""


# ----------------------------------------------------------------------------------- the five ways


class Mcp:
    """A server of tools with the names that both have."""

    def __init__(self, name: str, command: list[str]) -> None:
        self.name, self.command = name, command

    async def start(self, stack: AsyncExitStack, url: str) -> list[Call]:
        self.held = await stack.enter_async_context(holding(self.command))
        tools = await self.held.tools()
        listed = [tool.model_dump_json(by_alias=True, exclude_none=True) for tool in tools]
        fill = next(json.loads(one) for one in listed if json.loads(one)["name"] == "browser_fill_form")
        self.needed = set(fill["inputSchema"]["properties"]["fields"]["items"]["required"])
        return [Call("", "\n".join(listed), 0.0), await self.open(url)]

    async def call(self, tool: str, **arguments: object) -> Call:
        ms, answer = await self.held.call(tool, **arguments)
        return Call(json.dumps({"name": tool, "arguments": arguments}), answer, ms)

    async def open(self, url: str) -> Call:
        return await self.call("browser_navigate", url=url)

    async def look(self) -> Call:
        return await self.call("browser_snapshot")

    look_again = look

    async def click(self, target: str) -> Call:
        return await self.call("browser_click", target=target)

    async def fill(self, values: dict[str, str]) -> list[Call]:
        """With the members that the schema of the tool asks for."""
        every = [
            {"target": target, "name": name, "type": "textbox", "value": VALUES[name]} for name, target in values.items()
        ]
        fields = [{key: value for key, value in field.items() if key in self.needed or key == "value"} for field in every]
        return [await self.call("browser_fill_form", fields=fields)]


class Shell:
    """A program whose commands share a session. Its name alone counts as sent, not the folder that it is in."""

    def __init__(self, name: str, program: str, home: Path, environment: dict[str, str]) -> None:
        self.name, self.program, self.home = name, program, home
        self.environment = {**os.environ, **environment}

    async def run(self, *words: str) -> Call:
        began = time.perf_counter()
        done = subprocess.run(
            [self.program, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=self.home,
            env=self.environment,
            timeout=COMMAND_LIMIT,
        )
        ms = (time.perf_counter() - began) * 1_000
        if done.returncode != 0:
            raise HarnessError(f"{self.name} {words}: {shorten(done.stdout + done.stderr, 400)}")
        return Call(shlex.join([self.name, *words]), done.stdout + done.stderr, ms)

    async def start(self, stack: AsyncExitStack, url: str) -> list[Call]:
        stack.push_async_callback(self.run, "close")
        return [await self.open(url)]

    async def open(self, url: str) -> Call:
        return await self.run("open", url)

    async def look(self) -> Call:
        return await self.run("snapshot")

    look_again = look

    async def click(self, target: str) -> Call:
        return await self.run("click", target)


class Cuebook(Shell):
    async def fill(self, values: dict[str, str]) -> list[Call]:
        steps = [f"setValue({target},{json.dumps(VALUES[name])})" for name, target in values.items()]
        return [await self.run("batch", "\n".join(steps))]


class PlaywrightCli(Shell):
    async def start(self, stack: AsyncExitStack, url: str) -> list[Call]:
        stack.push_async_callback(self.run, "close")
        return [await self.run("open", url, "--config", "playwright.json")]

    async def open(self, url: str) -> Call:
        return await self.run("goto", url)

    async def fill(self, values: dict[str, str]) -> list[Call]:
        return [await self.run("fill", target, VALUES[name]) for name, target in values.items()]


class AgentBrowser(Shell):
    async def look(self) -> Call:
        return await self.run("snapshot", "-i")

    async def look_again(self) -> Call:
        return await self.run("snapshot")

    async def click(self, target: str) -> Call:
        return await self.run("click", f"@{target}")

    async def fill(self, values: dict[str, str]) -> list[Call]:
        commands = [shlex.join(["fill", f"@{target}", VALUES[name]]) for name, target in values.items()]
        return [await self.run("batch", "--bail", *commands)]


def ways(cuebook: str, chrome: str, home: Path) -> list[Way]:
    node = Path(node_package("mcp-peer", PLAYWRIGHT_MCP, PLAYWRIGHT_CLI, AGENT_BROWSER))
    no_sandbox = ["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []
    launch = {"executablePath": chrome, "headless": True, "chromiumSandbox": not no_sandbox}
    settings = {"browser": {"browserName": "chromium", "isolated": True, "launchOptions": launch}}
    write_json(home / "playwright.json", settings)
    theirs = ["--headless", "--isolated", *no_sandbox, "--executable-path", chrome]
    own_home = {"HOME": str(home)}
    of_agent_browser = {
        "AGENT_BROWSER_EXECUTABLE_PATH": chrome,
        "AGENT_BROWSER_SOCKET_DIR": str(home / "agent-browser"),
        "AGENT_BROWSER_SESSION": "peer",
        **({"AGENT_BROWSER_ARGS": ",".join(no_sandbox)} if no_sandbox else {}),
    }
    return [
        Mcp("cuebook mcp", [cuebook, "mcp", "--quiet", "--out", str(home / "runs")]),
        Mcp("Playwright MCP", [str(node / "playwright-mcp"), *theirs]),
        Cuebook("cuebook", cuebook, home, {"CUEBOOK_SESSION": "peer", "CUEBOOK_OUT": str(home / "runs")}),
        PlaywrightCli("playwright-cli", str(node / "playwright-cli"), home, {**own_home, "PLAYWRIGHT_CLI_SESSION": "peer"}),
        AgentBrowser("agent-browser", str(node / "agent-browser"), home, {**own_home, **of_agent_browser}),
    ]


# ------------------------------------------------------------------------------------ what is done


class Found:
    """Numbers by name, and texts whose tokens are counted at the end."""

    def __init__(self) -> None:
        self.numbers: dict[str, list[float]] = defaultdict(list)
        self.texts: dict[str, list[list[str]]] = defaultdict(list)

    def add(self, name: str, value: float) -> None:
        self.numbers[name].append(value)

    def weigh(self, name: str, calls: Iterable[Call]) -> None:
        """The bytes of the answers, and the tokens of what was sent and answered."""
        calls = list(calls)
        self.add(f"{name}: bytes of the answers", sum(len(call.answer.encode()) for call in calls))
        self.texts[f"{name}: tokens sent and read"].append([text for call in calls for text in (call.sent, call.answer)])


def ids_in(call: Call, *names: str) -> dict[str, str]:
    ids = {one["name"]: one["id"] for one in ID.finditer(call.answer)}
    missing = [name for name in names if name not in ids]
    if missing:
        raise HarnessError(f"expected {', '.join(missing)} in what is shown, saw {shorten(call.answer, 400)}")
    return {name: ids[name] for name in names}


async def one_round(way: Way, origin: str, found: Found) -> None:
    async with AsyncExitStack() as stack:
        began = time.perf_counter()
        first = await way.start(stack, f"{origin}/form")
        found.add("start, and the first page: ms", (time.perf_counter() - began) * 1_000)
        found.weigh("start, and the first page", first)

        Pages.sent.clear()
        began = time.perf_counter()
        calls = [await way.open(f"{origin}/form")]
        if not ID.search(calls[0].answer):
            calls.append(await way.look())
        ids = ids_in(calls[-1], *VALUES, "Next")
        following = ids.pop("Next")
        calls += [*await way.fill(ids), await way.click(following)]
        # A click may be answered before the server of the page is asked.
        until = time.monotonic() + ARRIVAL
        while not Pages.sent and time.monotonic() < until:
            await asyncio.sleep(0.005)
        # Who is shown by the answer that the form is done need not look.
        if '"Done"' not in calls[-1].answer:
            calls.append(await way.look_again())
        found.add("form of six fields: ms", (time.perf_counter() - began) * 1_000)
        found.add("form of six fields: calls", len(calls))
        found.weigh("form of six fields", calls)
        if Pages.sent != [VALUES]:
            raise HarnessError(f"{way.name}: expected {VALUES} at the server, saw {Pages.sent}")

        for count in SIZES:
            await way.open(f"{origin}/buttons/{count}")
            name = f"{count:,} buttons"
            shown = await way.look()
            ids = ids_in(shown, *(f"Button {n}" for n in range(CLICKS)))
            found.add(f"{name}, snapshot: ms", shown.ms)
            found.weigh(f"{name}, snapshot", [shown])
            clicks = [await way.click(target) for target in ids.values()]
            found.add(f"{name}, click: ms", statistics.median(call.ms for call in clicks))
            found.weigh(f"{name}, click", clicks[:1])
            # Who is shown by the answer what the click did need not look again.
            does_show = "pressed Button 0" in clicks[0].answer
            again = [] if does_show else [await way.look_again()]
            if not does_show and f"pressed Button {CLICKS - 1}" not in again[0].answer:
                raise HarnessError(f"{way.name}: the page does not say what was pressed: {shorten(again[0].answer, 400)}")
            found.add(f"{name}, look, click, look: calls", 2 + len(again))
            found.weigh(f"{name}, look, click, look", [shown, clicks[0], *again])


def tokens_of(texts: list[str]) -> list[int]:
    folder = Path(node_package("tokens", TOKENIZER)).parent.parent
    command = ["node", "-e", COUNT_TOKENS, str(folder)]
    counted = subprocess.run(command, input=json.dumps(texts), check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(counted.stdout)


def count_tokens(found: Found) -> None:
    places = [(name, index) for name, rounds in found.texts.items() for index, _ in enumerate(rounds)]
    texts = [text for name, index in places for text in found.texts[name][index]]
    counts = iter(tokens_of(texts))
    for name, index in places:
        found.add(name, sum(next(counts) for _ in found.texts[name][index]))


def shown(values: list[float]) -> str:
    """Median, with the least and the most where they differ."""
    least, middle, most = min(values), statistics.median(values), max(values)
    return f"{middle:,.0f}" if round(least) == round(most) else f"{middle:,.0f} ({least:,.0f}–{most:,.0f})"


def main() -> int:
    parser = arguments_of(__doc__, "mcp")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds of each way; {ROUNDS} unless stated")
    options = parsed(parser)
    os.environ["CHROME"] = options.chrome
    os.environ.pop("XDG_RUNTIME_DIR", None)
    pages = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{pages.server_port}"
    # The path of a socket is bounded, so sessions have a folder of the system's.
    with TemporaryDirectory(prefix="cuebook-", ignore_cleanup_errors=True) as home:
        os.environ["TMPDIR"] = home
        taken = {way: Found() for way in ways(options.cuebook, options.chrome, Path(home))}
        loads = []
        for _ in range(options.rounds):
            loads.append(os.getloadavg()[0])
            for way, found in taken.items():
                asyncio.run(one_round(way, origin, found))
    for found in taken.values():
        count_tokens(found)
    every = list(taken.values())
    names = sorted(every[0].numbers, key=list(every[0].numbers).index)
    rows = [[name, *(shown(found.numbers[name]) for found in every)] for name in names]
    write_json(WORK / "mcp.json", {way.name: found.numbers for way, found in taken.items()})
    asked = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(asked, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    versions = ", ".join(f"`{package}`" for package in (CLIENT, PLAYWRIGHT_MCP, PLAYWRIGHT_CLI, AGENT_BROWSER))
    text = (
        f"{datetime.datetime.now(datetime.UTC).date()}, `{commit}`; {os.cpu_count()} cores, {platform.system().lower()} "
        f"{platform.machine()}; load average before a round: at most {max(loads):.2f}; {versions}. Medians of "
        f"{options.rounds} rounds, with the least and the most. Tokens are those of `o200k_base` ({TOKENIZER}).\n\n"
    )
    publish(options, "mcp", text + table(["", *(way.name for way in taken)], rows))
    return 0


if __name__ == "__main__":
    run_harness(lambda: with_package(main))
