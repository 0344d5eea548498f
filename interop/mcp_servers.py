#!/usr/bin/env python3
"""Holds `cuebook mcp` by the client of PyPI's `mcp`, then does the same work by `@playwright/mcp` of npm in turn.

First every tool of `cuebook mcp` is called once, and an order is made on the built-in site, whose server is asked. Then
both servers, with their defaults and the same Chrome, show and press pages of 100, 1,000 and 10,000 buttons, and fill a
form of six fields: time of each call, and bytes of each answer. A round of one follows a round of the other.
"""

import asyncio
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from common import (
    ROOT,
    WORK,
    HarnessError,
    arguments_of,
    built_in_site,
    parsed,
    publish,
    run_harness,
    table,
)

CLIENT = "mcp==2.3.0"
PEER = "@playwright/mcp@0.0.83"
VENV = WORK / "mcp"
NODE = WORK / "mcp-peer"
SIZES = (100, 1_000, 10_000)
ROUNDS = 3
CLICKS = 5
ID = re.compile(r'"(?P<name>(?:Button|Field) \d+|Next)"[^\n]*?\[(?:ref=)?(?P<id>[a-z0-9]+)\]')


class Pages(BaseHTTPRequestHandler):
    """Buttons that write what was pressed, and a form."""

    def do_GET(self) -> None:
        count = int((re.search(r"\d+", self.path) or [0])[0])
        if self.path.startswith("/form"):
            fields = "".join(f"<p><label>Field {n} <input name=f{n}></label></p>" for n in range(6))
            body = f'<h1>Form</h1><form action="/done">{fields}<button>Next</button></form>'
        elif self.path.startswith("/done"):
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


# ------------------------------------------------------------------------ with the client's package


class Held:
    """A server, held by a client."""

    def __init__(self, session: object) -> None:
        self.session = session

    async def call(self, tool: str, may_fail: bool = False, **arguments: object) -> tuple[float, str]:
        """Milliseconds, and the text of the answer."""
        began = time.perf_counter()
        result = await self.session.call_tool(tool, arguments)
        took = (time.perf_counter() - began) * 1_000
        text = "".join(part.text for part in result.content if part.type == "text")
        is_error = getattr(result, "isError", None) or getattr(result, "is_error", False)
        if is_error and not may_fail:
            raise HarnessError(f"{tool} {arguments}: {text[:400]}")
        return took, text


async def holding(command: str, arguments: list[str], work: object) -> object:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    # What a server leaves where it runs is nothing of the repository.
    server = StdioServerParameters(command=command, args=arguments, env=dict(os.environ), cwd=WORK)
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        return await work(Held(session))


async def everything(held: Held, origin: str) -> int:
    """Calls every tool, and orders on the built-in site. The number of tools."""
    tools = (await held.session.list_tools()).tools
    called = set()

    async def call(tool: str, may_fail: bool = False, **arguments: object) -> str:
        called.add(tool)
        return (await held.call(tool, may_fail, **arguments))[1]

    await call("browser_navigate", url=f"{origin}/login")
    fields = [{"target": "label=Email", "value": "ann"}, {"target": "label=Password", "value": "correct-horse"}]
    await call("browser_fill_form", fields=fields)
    await call("browser_click", target='button "Log in"', element="the button that logs in")
    await call("browser_select_option", target="label=Product", values=["Notebook, $12.90"])
    asked = await call("browser_click", target='button "Order"')
    question = re.search(r"question (q\d+)", asked)
    if not question:
        raise HarnessError(f"expected a question before an order, saw {asked}")
    await call("browser_confirm", id=question[1], decision="allow")
    await call("browser_navigate_back")
    await call("browser_tabs", action="list")
    await call("browser_find", text="order")
    await call("browser_take_screenshot")
    await call("browser_extract")
    await call("browser_snapshot")
    await call("browser_navigate", url=f"{origin}/dialogs")
    await call("browser_click", target='button "Show alert"')
    await call("browser_handle_dialog", accept=True)
    await call("browser_type", target="role=textbox", text="a draft")
    await call("browser_press_key", key="Tab")
    await call("browser_hover", target='button "Show alert"')
    await call("browser_wait_for", text="Dialogs")
    await call("browser_run_plan", plan={"steps": [{"type": "reload"}]}, dryRun=True)
    # What this page has nothing for is refused by name, and nothing else happens.
    await call("browser_drag", may_fail=True, startTarget="c1", endTarget="c2")
    await call("browser_file_upload", may_fail=True, target="role=textbox", paths=["/nowhere"])
    await call("browser_close")
    missed = {tool.name for tool in tools} - called
    if missed:
        raise HarnessError(f"not called: {sorted(missed)}")
    return len(tools)


async def measured(held: Held, origin: str) -> dict[str, float]:
    """One round of the work that both servers do."""
    out: dict[str, float] = {}
    tools = (await held.session.list_tools()).tools
    out["bytes of the list of tools"] = sum(len(tool.model_dump_json(exclude_none=True)) for tool in tools)
    out["start and first page, ms"], _ = await held.call("browser_navigate", url=f"{origin}/form")
    began, size = time.perf_counter(), 0
    _, page = await held.call("browser_snapshot")
    ids = {one["name"]: one["id"] for one in ID.finditer(page)}
    fields = [
        {"target": ids[f"Field {n}"], "name": f"Field {n}", "type": "textbox", "value": f"value {n}"} for n in range(6)
    ]
    out["six fields, ms"], filled = await held.call("browser_fill_form", fields=fields)
    _, sent = await held.call("browser_click", target=ids["Next"], element="the button")
    out["form of six fields, ms"] = (time.perf_counter() - began) * 1_000
    out["form of six fields, bytes"] = len(page) + len(filled) + len(sent)
    for count in SIZES:
        await held.call("browser_navigate", url=f"{origin}/buttons/{count}")
        took, page = await held.call("browser_snapshot")
        ids = {one["name"]: one["id"] for one in ID.finditer(page)}
        clicks = [await held.call("browser_click", target=ids[f"Button {n}"], element="a button") for n in range(CLICKS)]
        out[f"snapshot of {count:,}, ms"] = took
        out[f"snapshot of {count:,}, bytes"] = len(page)
        out[f"click among {count:,}, ms"] = statistics.median(took for took, _ in clicks)
        out[f"click among {count:,}, bytes"] = statistics.median(len(text) for _, text in clicks)
    return out


def inside(cuebook: str, chrome: str, peer: str, origin: str) -> None:
    """Prints what was found, as JSON. Runs where the client's package is."""
    os.environ["CHROME"] = chrome
    ours = (cuebook, ["mcp", "--out", str(WORK / "runs" / "mcp")])
    theirs = (peer, ["--headless", "--isolated", "--no-sandbox", "--executable-path", chrome])
    count = asyncio.run(holding(*ours, lambda held: everything(held, origin)))
    pages = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{pages.server_port}"
    rounds = {"cuebook": [], "peer": []}
    for _ in range(ROUNDS):
        rounds["cuebook"].append(asyncio.run(holding(*ours, lambda held: measured(held, address))))
        rounds["peer"].append(asyncio.run(holding(*theirs, lambda held: measured(held, address))))
    print(json.dumps({"tools": count, "rounds": rounds}))


# ------------------------------------------------------------------------------------ without it


def installed() -> tuple[str, str]:
    """A Python that has the client, and the peer's program."""
    python = VENV / "bin" / "python"
    if not python.is_file():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", CLIENT], check=True)
    subprocess.run(["npm", "install", "--silent", "--no-save", "--prefix", str(NODE), PEER], check=True)
    return str(python), str(NODE / "node_modules" / ".bin" / "playwright-mcp")


def main() -> int:
    if sys.argv[1:2] == ["--inside"]:
        inside(*sys.argv[2:])
        return 0
    options = parsed(arguments_of(__doc__, "mcp"))
    python, peer = installed()
    with built_in_site(options.cuebook) as origin:
        command = [python, __file__, "--inside", options.cuebook, options.chrome, peer, origin]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        with urllib.request.urlopen(f"{origin}/state", timeout=10) as state:
            orders = json.load(state)["orders"]
    if len(orders) != 1:
        raise HarnessError(f"expected one order, saw {orders}")
    found = json.loads(done.stdout.splitlines()[-1])
    rows = []
    for name in found["rounds"]["cuebook"][0]:
        ours, theirs = (statistics.median(one[name] for one in found["rounds"][side]) for side in ("cuebook", "peer"))
        rows.append([name, f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.2f}"])
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    machine = f"{os.cpu_count()} cores, {platform.system().lower()} {platform.machine()}"
    today = datetime.datetime.now(datetime.UTC).date()
    intro = f"{today}, `{commit.stdout.strip()}`; medians of {ROUNDS} rounds a side; {machine}; `{CLIENT}`, `{PEER}`.\n\n"
    publish(options, "mcp", intro + table(["", "cuebook", "Playwright MCP", "ratio"], rows))
    print(f"all {found['tools']} tools were called, and one order was made")
    return 0


if __name__ == "__main__":
    run_harness(main)
