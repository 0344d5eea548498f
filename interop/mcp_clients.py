#!/usr/bin/env python3
"""Uses `cuebook mcp` by clients of other people: the inspector of npm, and `mcp` of PyPI.

The inspector, as a process for each call, lists the tools and calls every one: over HTTP, and on a session of a shell. A
scripted client calls every tool too, and orders on the built-in site; does the tasks of `eval/django` one call a step, each
judged by the suite's oracle; logs in by `browser_dom`; and names elements that are gone, which must reach no other.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from common import (
    ROOT,
    WORK,
    HarnessError,
    arguments_of,
    built_in_site,
    parsed,
    publish,
    run_harness,
    shorten,
    stop_group,
    table,
)
from django_admin import free_port, python_with_django, wait_for
from mcp_client import CLIENT, Held, holding, node_package, with_package

INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
SUITE = ROOT / "eval" / "django"
WORKER = "mcp"
SESSION = "inspected"
CALL_LIMIT = 120.0
SETS = {"core": 20, "slim": 3, "dom": 1, "all": 50}
# The inspector declares roots and has none: so no file of its machine can be named.
OF_NO_ROOT = ("browser_file_upload", "is in no root")
# The usual profile opens neither points nor scripts.
UNLEASHED = {"browser_mouse_click_xy", "browser_mouse_drag_xy", "browser_evaluate"}
REFUSED = {OF_NO_ROOT[0]: OF_NO_ROOT[1], **dict.fromkeys(UNLEASHED, "unleashed")}
QUESTION = re.compile(r"answer question (q\d+)")
Row = list[object]


def state_of(origin: str) -> dict:
    """What the server of the built-in site knows."""
    with urllib.request.urlopen(f"{origin}/state", timeout=10) as state:
        return json.load(state)


# ------------------------------------------------------------------------------------ the inspector


def walk(origin: str, file: Path) -> list[tuple[str, dict, str | None]]:
    """Calls of every tool, in an order in which each has something to work on; what the answer of each must say, where `ok`
    at its beginning is not enough."""
    fields = [{"target": "label=Email", "value": "ann"}, {"target": "label=Password", "value": "correct-horse"}]
    count = {"type": "click", "targetRef": 'button "Count"'}
    return [
        ("browser_navigate", {"url": f"{origin}/login"}, 'button "Log in" [c'),
        ("browser_focus", {"target": "label=Email"}, None),
        ("browser_type", {"target": "label=Email", "text": "bob"}, None),
        ("browser_get", {"what": "value", "target": "label=Email"}, "bob"),
        ("browser_check", {"target": "label=Keep me signed in"}, None),
        ("browser_is", {"state": "checked", "target": "label=Keep me signed in"}, "true"),
        ("browser_uncheck", {"target": "label=Keep me signed in"}, None),
        ("browser_fill_form", {"fields": fields}, None),
        ("browser_verify_value", {"target": "label=Email", "value": "ann"}, None),
        ("browser_click", {"target": 'button "Log in"', "element": "the button that logs in"}, "/dashboard"),
        ("browser_select_option", {"target": "label=Product", "values": ["Notebook, $12.90"]}, None),
        ("browser_click", {"target": 'button "Order"'}, "needs consent"),
        ("browser_confirm", {"id": "q1", "decision": "allow"}, "/order/5001"),
        ("browser_navigate_back", {}, None),
        ("browser_navigate_forward", {}, None),
        ("browser_reload", {}, None),
        ("browser_diff", {}, "nothing else changed"),
        ("browser_storage", {"area": "local"}, "values are never shown"),
        ("browser_credentials", {}, "values are never shown"),
        ("browser_storage_state", {"filename": "state.json"}, None),
        ("browser_set_storage_state", {"filename": "state.json"}, None),
        ("browser_cookies", {"action": "list"}, None),
        ("browser_tabs", {"action": "list"}, "t1"),
        ("browser_find", {"text": "order"}, None),
        ("browser_take_screenshot", {}, None),
        ("browser_pdf_save", {"filename": "page.pdf"}, None),
        ("browser_extract", {}, None),
        ("browser_navigate", {"url": f"{origin}/dialogs"}, None),
        ("browser_click", {"target": 'button "Show alert"'}, "### Modal state"),
        ("browser_handle_dialog", {"accept": True}, None),
        ("browser_press_key", {"key": "Tab"}, None),
        ("browser_hover", {"target": 'button "Show alert"'}, "hover button"),
        ("browser_scroll", {"direction": "down"}, None),
        ("browser_evaluate", {"function": "() => 1"}, None),
        ("browser_wait_for", {"text": "Dialogs"}, None),
        ("browser_verify_element_visible", {"role": "button", "accessibleName": "Show alert"}, None),
        ("browser_verify_text_visible", {"text": "Dialogs"}, None),
        ("browser_mouse_click_xy", {"x": 1, "y": 1}, None),
        ("browser_mouse_drag_xy", {"startX": 1, "startY": 1, "endX": 9, "endY": 9}, None),
        ("browser_navigate", {"url": f"{origin}/counter"}, 'button "Count" [c'),
        ("browser_run_plan", {"plan": {"steps": [count]}, "dryRun": True}, None),
        ("browser_run_plan", {"plan": {"steps": [count]}}, None),
        ("browser_snapshot", {}, "Counted by the server: 1"),
        ("browser_dom", {"action": "click", "selector": "css=main button"}, None),
        ("browser_look", {}, "Counted by the server: 2"),
        ("browser_console_messages", {}, None),
        ("browser_network_requests", {"filter": "counter"}, "/counter"),
        ("browser_route", {"url": f"{origin}/mocked", "body": "<h1>From a rule</h1>"}, None),
        ("browser_look", {"url": f"{origin}/mocked"}, "From a rule"),
        ("browser_unroute", {"url": f"{origin}/mocked"}, None),
        ("browser_resize", {"width": 900, "height": 700}, None),
        ("browser_emulate", {"colorScheme": "dark"}, None),
        ("browser_navigate", {"url": f"{origin}/editors"}, None),
        ("browser_verify_list_visible", {"items": ["First", "Third"]}, None),
        ("browser_drag", {"startTarget": "css=#drag-ink", "endTarget": "css=#basket"}, None),
        ("browser_file_upload", {"target": "label=Attachment", "paths": [str(file)]}, None),
        ("browser_close", {}, None),
    ]


class Inspector:
    """The inspector's command line, which connects, calls once, and goes."""

    def __init__(self, programs: str, target: list[str], home: Path) -> None:
        self.command = [f"{programs}/mcp-inspector", "--cli", "--quiet", "--format", "json"]
        self.target = target
        kept = {"MCP_CATALOG_PATH": str(home / "catalog.json"), "MCP_STORAGE_DIR": str(home)}
        self.environment = {**os.environ, **kept}

    def ask(self, method: str, *flags: str) -> dict:
        done = subprocess.run(
            [*self.command, "--method", method, *flags, *self.target],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=WORK,
            env=self.environment,
            timeout=CALL_LIMIT,
        )
        try:
            return json.loads(done.stdout)["result"]
        except (ValueError, KeyError):
            said = shorten(done.stderr or done.stdout)
            raise HarnessError(f"the inspector ended with {done.returncode} on {method} {flags}: {said}") from None

    def tools(self) -> list[str]:
        """Lists them, and fails where a schema is one that some client refuses."""
        return [tool["name"] for tool in self.ask("tools/list", "--strict")["tools"]]

    def call(self, tool: str, arguments: dict) -> tuple[bool, str]:
        """Whether it failed, and the text of the answer."""
        result = self.ask("tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments))
        text = "".join(part["text"] for part in result["content"] if part["type"] == "text")
        return bool(result.get("isError")), text


def over_stdio(programs: str, command: list[str], home: Path) -> Inspector:
    # The inspector hands its servers no more of the environment than is named.
    names = [name for name in ("CHROME", "TMPDIR") if name in os.environ]
    environment = [word for name in names for word in ("-e", f"{name}={os.environ[name]}")]
    return Inspector(programs, [*environment, "--", *command], home)


@contextmanager
def over_http(cuebook: str, flags: list[str], programs: str, home: Path) -> Iterator[Inspector]:
    command = [cuebook, "mcp", "--http", "127.0.0.1:0", "--json", *flags]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        place = json.loads("".join(iter(server.stdout.readline, "}\n")) + "}")
        header = f"Authorization: Bearer {place['token']}"
        yield Inspector(programs, ["--server-url", place["url"], "--header", header], home)
    finally:
        server.terminate()
        server.wait()


def walked(inspector: Inspector, origin: str, file: Path, always: dict, without: set[str]) -> set[str]:
    """Does the whole walk, but for the tools `without`. The tools that were called."""
    called = set()
    for tool, arguments, said in walk(origin, file):
        if tool in without:
            continue
        is_error, text = inspector.call(tool, {**arguments, **always})
        is_refused = tool in REFUSED
        said = REFUSED.get(tool, said)
        if is_error != is_refused or (said or "ok") not in text:
            raise HarnessError(f"{tool} {arguments}: expected {said or 'ok'!r}, saw {shorten(text, 600)}")
        called.add(tool)
    return called


def inspected(cuebook: str, home: Path) -> list[Row]:
    programs = node_package("mcp-inspector", INSPECTOR)
    rows: list[Row] = []
    listed: set[str] = set()
    for name, wanted in SETS.items():
        tools = over_stdio(programs, [cuebook, "mcp", "--tools", name], home).tools()
        if len(tools) != wanted:
            raise HarnessError(f"expected {wanted} tools in the set {name}, saw {tools}")
        listed.update(tools)
    rows.append(["inspector", "lists the sets of tools, without complaint of `--strict`", f"{len(SETS)} of {len(SETS)}"])

    file = home / "letter.txt"
    file.write_text("a letter\n", encoding="utf-8")
    flags = ["--tools", "all", "--root", str(home), "--out", str(home / "runs")]
    with built_in_site(cuebook) as origin, over_http(cuebook, flags, programs, home) as inspector:
        called = walked(inspector, origin, file, {"session": SESSION}, set())
        orders = state_of(origin)["orders"]
    if called != listed or len(orders) != 1:
        raise HarnessError(f"not called: {sorted(listed - called)}; orders: {orders}")
    what = "calls every tool over HTTP, a process for each call; an upload is refused, as it lists no root"
    rows.append(["inspector", what, f"{len(called)} of {len(listed)}"])

    started = [cuebook, "start", "-s", SESSION, "--root", str(home), "--out", str(home / "runs")]
    subprocess.run(started, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        with built_in_site(cuebook) as origin:
            server = over_stdio(programs, [cuebook, "mcp", "-s", SESSION, "--tools", "all"], home)
            # The question of a step goes with the client that was asked.
            called = walked(server, origin, file, {}, {"browser_confirm"})
            orders = state_of(origin)["orders"]
    finally:
        # The walk has closed it, if it came to its end.
        subprocess.run([cuebook, "close", "-s", SESSION, "--quiet"], stderr=subprocess.DEVNULL)
    if listed - called != {"browser_confirm"} or orders:
        raise HarnessError(f"not called: {sorted(listed - called)}; orders: {orders}")
    what = "calls the tools on a session of a shell, a server for each call; a question is denied as its server goes"
    rows.append(["inspector", what, f"{len(called)} of {len(listed) - 1}"])
    return rows


# ---------------------------------------------------------------------------------- Django's admin


def target_of(step: dict, shown: str) -> str:
    """`@textbox Username` as the description of what was shown last under that name, with a colon or without. What has no
    name, or a longer one, is named by its id: `@textbox  | Copies` is the field without a name in that group."""
    role, _, rest = step["targetRef"].removeprefix("@").partition(" ")
    name, _, context = rest.partition(" | ")
    if context and not name.strip():
        found = re.findall(rf"{role} \[(c\d+)\] \([^)]*{re.escape(context)}", shown)
        found = found or re.findall(rf"^(?:row|\*) .*{re.escape(context)}.* {role} \[(c\d+)\]", shown, re.MULTILINE)
        return found[-1] if found else step["targetRef"]
    exact = re.findall(rf'{role} "({re.escape(rest)}:?)"', shown)
    begun = re.findall(rf'{role} \(?"{re.escape(rest)}(?:[^"\\]|\\.)*"\)? \[(c\d+)\]', shown)
    return begun[-1] if begun and not exact else f'role={role}[name="{exact[-1] if exact else rest}"]'


def call_of(step: dict, target: str) -> tuple[str, dict]:
    """The tool for a step, and its arguments."""
    match step["type"]:
        case "setValue":
            return "browser_type", {"target": target, "text": step["value"]}
        case "click":
            return "browser_click", {"target": target, "element": step["targetRef"]}
        case "select":
            return "browser_select_option", {"target": target, "values": [step["option"]]}
        case "check" | "uncheck" as what:
            field = {"target": target, "type": "checkbox", "value": str(what == "check").lower()}
            return "browser_fill_form", {"fields": [field]}
        case other:
            raise HarnessError(f"no tool for {other}")


@contextmanager
def library() -> Iterator[tuple[str, list[str]]]:
    """The address of a library of our own, and the command of its reset and its oracle."""
    python = str(python_with_django())
    port = free_port()
    url = f"http://127.0.0.1:{port}/admin/"
    command = [python, str(SUITE / "app.py")]
    os.environ["CUEBOOK_WORKER"] = WORKER
    with open(WORK / "mcp-django.log", "w", encoding="utf-8") as log:
        quiet = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, "start_new_session": True}
        server = subprocess.Popen([*command, "serve", str(port)], **quiet)
        try:
            wait_for(url, server)
            yield url, command
        finally:
            stop_group(server)


async def by_calls(held: Held, url: str, task: dict) -> tuple[int, int]:
    """Does a task. How many calls it took, and how many questions a tool answered."""
    _, shown = await held.call("browser_navigate", url=url + task["url"])
    calls, answered = 1, 0
    for step in task["plan"]:
        tool, arguments = call_of(step, target_of(step, shown))
        _, text = await held.call(tool, **arguments)
        calls += 1
        if question := QUESTION.search(text):
            _, text = await held.call("browser_confirm", id=question[1], decision="allow")
            calls, answered = calls + 1, answered + 1
        if not text.startswith("### Result\nok: "):
            raise HarnessError(f"{tool} {arguments}: expected ok, saw {shorten(text, 600)}")
        shown += text
    await held.call("browser_close")
    return calls, answered


def wrong_in(app: list[str], task: dict) -> str | None:
    """What the oracle says against the database."""
    environment = {**os.environ, "CUEBOOK_TASK": task["name"]}
    judged = subprocess.run([*app, "oracle"], env=environment, capture_output=True, text=True)
    return None if judged.returncode == 0 else judged.stdout.strip() or shorten(judged.stderr)


async def admin(cuebook: str, home: Path) -> list[Row]:
    """All tasks of the suite; those that asked for consent again by clients that pass questions on to their person."""
    tasks = tomllib.loads((SUITE / "suite.toml").read_text(encoding="utf-8"))["task"]
    command = [cuebook, "mcp", "--out", str(home / "runs")]
    asked: list[str] = []

    async def agrees(question: str) -> bool:
        asked.append(question)
        return True

    with library() as (url, app):

        async def does(held: Held, task: dict) -> tuple[str | None, int, int]:
            """What is wrong, how many calls it took, and how many questions were asked."""
            subprocess.run([*app, "reset"], check=True)
            asked.clear()
            try:
                calls, answered = await by_calls(held, url, task)
            except HarnessError as error:
                return str(error), 0, 0
            return wrong_in(app, task), calls, answered + len(asked)

        async def done(way: str, mode: str, wanted: list[dict]) -> tuple[Row, list[dict]]:
            """A row, and the tasks that asked."""
            reached, all_calls, asking = 0, 0, []
            async with holding(command, mode, None if way == "`browser_confirm`" else agrees) as held:
                for index, task in enumerate(wanted):
                    wrong, calls, questions = await does(held.of_session(f"task-{index}"), task)
                    all_calls, reached = all_calls + calls, reached + (wrong is None)
                    if questions:
                        asking.append(task)
                    if wrong:
                        print(f"{task['name']} (consent by {way}): {wrong}", file=sys.stderr)
            what = f"tasks of Django's admin in {all_calls} calls; {len(asking)} asked, answered by {way}"
            return ["`mcp`", what, f"{reached} of {len(wanted)}"], asking

        first, asking = await done("`browser_confirm`", "legacy", tasks)
        rows = [first]
        for way, mode in (("elicitation", "legacy"), ("a second call", "auto")):
            row, again = await done(way, mode, asking)
            rows.append(row)
            if not asking or again != asking:
                raise HarnessError(f"expected questions by {way} in {asking}, saw them in {again}")
    return rows


# ------------------------------------------------------------------------- on the built-in site


async def in_one_session(cuebook: str, home: Path) -> list[Row]:
    """Calls every tool of the default set and of all of them, logging in and ordering on the way."""
    rows: list[Row] = []
    file = home / "letter.txt"
    file.write_text("a letter\n", encoding="utf-8")
    for name in ("core", "all"):
        command = [cuebook, "mcp", "--tools", name, "--root", str(home), "--out", str(home / "runs")]
        with built_in_site(cuebook) as origin:
            async with holding(command) as held:
                listed = {tool.name for tool in await held.tools()}
                called = set()
                for tool, arguments, said in walk(origin, file):
                    if tool not in listed - UNLEASHED:
                        continue
                    _, text = await held.call(tool, **arguments)
                    called.add(tool)
                    if (said or "ok") not in text:
                        raise HarnessError(f"{tool} {arguments}: expected {said or 'ok'!r}, saw {shorten(text, 600)}")
            state = state_of(origin)
        if called != listed - UNLEASHED or len(state["orders"]) != 1:
            raise HarnessError(f"not called: {sorted(listed - called)}; orders: {state['orders']}")
        what = f"lists and calls every tool of `--tools {name}`, logs in and orders"
        rows.append(["`mcp`", what, f"{len(called)} of {len(listed - UNLEASHED)}"])
    return rows


async def by_dom(cuebook: str, home: Path) -> list[Row]:
    secrets = home / "secrets.toml"
    with built_in_site(cuebook) as origin:
        secrets.write_text(f'[password]\nvalue = "correct-horse"\norigins = ["{origin}"]\n', encoding="utf-8")
        secrets.chmod(0o600)
        command = [cuebook, "mcp", "--tools", "dom", "--secrets", str(secrets), "--out", str(home / "runs")]
        async with holding(command) as held:
            await held.call("browser_dom", action="goto", url=f"{origin}/login")
            steps = [
                {"action": "key_press", "selector": "#email", "text": "ann"},
                {"action": "key_press", "selector": "#password", "credential_ref": "password"},
                {"action": "click", "selector": "button[type=submit]"},
            ]
            _, text = await held.call("browser_dom", action="execute_sequence", steps=steps)
        logins = state_of(origin)["logins"]
    if "/dashboard" not in text or "correct-horse" in text or logins != [{"user": "ann", "accepted": True}]:
        raise HarnessError(f"expected one login, saw {logins} and {shorten(text, 600)}")
    return [["`mcp`", "logs in by `browser_dom`, with the name of a stored secret", "1 of 1"]]


async def stale(cuebook: str, home: Path) -> list[Row]:
    """Names what is not there any more: after another page, after a reload, and on a page that never had it."""
    refused = []
    with built_in_site(cuebook) as origin:
        async with holding([cuebook, "mcp", "--out", str(home / "runs")]) as held:
            _, login = await held.call("browser_navigate", url=f"{origin}/login")
            former = re.search(r'button "Log in" \[(c\d+)\]', login)[1]
            _, page = await held.call("browser_navigate", url=f"{origin}/counter")
            count = re.search(r'button "Count" \[(c\d+)\]', page)[1]
            await held.call("browser_navigate", url=f"{origin}/counter")
            for gone in (former, count, "c99999"):
                _, text = await held.call("browser_click", may_fail=True, target=gone)
                if not text.startswith("### Error") or gone not in text:
                    raise HarnessError(f"expected a refusal of {gone}, saw {shorten(text, 600)}")
                refused.append(text)
            before = state_of(origin)
            await held.call("browser_click", target='button "Count"')
        after = state_of(origin)
    if before.get("hits", {}).get("counter", 0) != 0 or after == before:
        raise HarnessError(f"expected one press of the button that is there, saw {before} and then {after}")
    print(refused[0])
    return [["`mcp`", "is refused an id of a former page, and one of the page before a reload", f"{len(refused)} of 3"]]


def main() -> int:
    parts = {
        "inspector": inspected,
        "order": lambda *given: asyncio.run(in_one_session(*given)),
        "django": lambda *given: asyncio.run(admin(*given)),
        "dom": lambda *given: asyncio.run(by_dom(*given)),
        "stale": lambda *given: asyncio.run(stale(*given)),
    }
    parser = arguments_of(__doc__, "mcp-clients")
    parser.add_argument("--part", choices=parts, help="do one part only")
    options = parsed(parser)
    os.environ["CHROME"] = options.chrome
    os.environ.pop("XDG_RUNTIME_DIR", None)
    rows: list[Row] = []
    # The path of a socket is bounded, so sessions have a folder of the system's.
    with TemporaryDirectory(prefix="cuebook-") as home:
        os.environ["TMPDIR"] = home
        for name, part in parts.items():
            if options.part in (None, name):
                rows += part(options.cuebook, Path(home))
    publish(options, "mcp-clients", f"`{CLIENT}`, `{INSPECTOR}`.\n\n" + table(["client", "what it does", "done"], rows))
    wrong = [row for row in rows if len(set(str(row[2]).split(" of "))) != 1]
    return 1 if wrong else 0


if __name__ == "__main__":
    run_harness(lambda: with_package(main))
