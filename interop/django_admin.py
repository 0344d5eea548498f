#!/usr/bin/env python3
"""Operates Django's admin end to end, and asks the database after each part of the job what came of it.

With `cuebook exec` and the plans `plans/django-*.json`, which name what they act on by role, name, label and row, as
candidates are; one that names a selector is refused here. Standard library only; Django comes from its registry into a
virtual environment of its own.
"""

import json
import os
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from common import (
    WORK,
    Answer,
    HarnessError,
    arguments_of,
    parsed,
    publish,
    run_cuebook,
    run_harness,
    stop_group,
    table,
    write_json,
)

PACKAGE = "django>=5.2,<5.3"
PLANS = Path(__file__).parent / "plans"
SUPERUSER = ("operator", "Curtain-call-1843")
START_LIMIT = 60.0
RUN_LIMIT = 180.0
POLL = 0.1
# Ways to name a target that no candidate carries for a planner to read.
SELECTORS = {"css", "xpath", "byTestId"}


@dataclass(frozen=True)
class World:
    """What the database tells of everything but the superuser: the oracle."""

    users: dict[str, tuple[str, str, str, bool, tuple[str, ...]]]
    """First name, last name, address, staff, groups, by user name."""
    groups: dict[str, tuple[str, ...]]
    """Permissions by group."""


@dataclass(frozen=True)
class Stage:
    """A part of the job: a plan, and the world that it leaves."""

    plan: str
    told: str
    after: World


ANALYSTS = {"Analysts": ("view_user",)}
STAGES = (
    Stage(
        "django-create-user",
        "the user exists, without name or rights",
        World({"ada.lovelace": ("", "", "", False, ())}, {}),
    ),
    Stage(
        "django-create-group",
        "the group exists, with the one permission",
        World({"ada.lovelace": ("", "", "", False, ())}, ANALYSTS),
    ),
    Stage(
        "django-edit-user",
        "she has names and an address, is staff, and is in the group",
        World({"ada.lovelace": ("Ada", "Lovelace", "ada@example.com", True, ("Analysts",))}, ANALYSTS),
    ),
    Stage(
        "django-delete-user",
        "she is gone, and nothing else is",
        World({}, ANALYSTS),
    ),
)


def python_with_django() -> Path:
    """The interpreter of a virtual environment with Django in it, made where it is missing."""
    venv = WORK / "venv"
    scripts = venv / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / ("python.exe" if os.name == "nt" else "python")
    quiet = {"stdin": subprocess.DEVNULL, "check": True}
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], **quiet)
    known = subprocess.run([str(python), "-c", "import django"], stdin=subprocess.DEVNULL, capture_output=True)
    if known.returncode != 0:
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", PACKAGE], **quiet)
    return python


def make_project(python: Path) -> Path:
    """A new project with an empty database and one superuser."""
    project = WORK / "django"
    database = project / "db.sqlite3"
    project.mkdir(parents=True, exist_ok=True)
    if not (project / "manage.py").exists():
        subprocess.run([str(python), "-m", "django", "startproject", "backstage", str(project)], check=True)
    database.unlink(missing_ok=True)
    name, password = SUPERUSER
    environment = {
        **os.environ,
        "DJANGO_SUPERUSER_USERNAME": name,
        "DJANGO_SUPERUSER_PASSWORD": password,
        "DJANGO_SUPERUSER_EMAIL": f"{name}@example.com",
    }
    for command in (["migrate", "--verbosity=0"], ["createsuperuser", "--noinput", "--verbosity=0"]):
        subprocess.run([str(python), "manage.py", *command], cwd=project, env=environment, check=True)
    return project


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(url: str, server: subprocess.Popen) -> None:
    """Until the server answers."""
    deadline = time.monotonic() + START_LIMIT
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(POLL)
    raise HarnessError(f"expected an answer of {url}, saw none")


def world(database: Path) -> World:
    """Reads it from the tables, not from a page."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:

        def listed(query: str, key: object) -> tuple[str, ...]:
            return tuple(row[0] for row in connection.execute(query, (key,)))

        users = {}
        query = "SELECT id, username, first_name, last_name, email, is_staff FROM auth_user WHERE username <> ?"
        for key, name, first, last, email, staff in connection.execute(query, (SUPERUSER[0],)).fetchall():
            inside = "SELECT g.name FROM auth_group g JOIN auth_user_groups m ON m.group_id = g.id WHERE m.user_id = ?"
            users[name] = (first, last, email, bool(staff), listed(inside, key))
        groups = {}
        for key, name in connection.execute("SELECT id, name FROM auth_group").fetchall():
            held = (
                "SELECT p.codename FROM auth_permission p JOIN auth_group_permissions m ON m.permission_id = p.id"
                " WHERE m.group_id = ?"
            )
            groups[name] = listed(held, key)
        return World(users, groups)


def refuse_selectors(plan: Path) -> None:
    """A plan that gets by with what candidates carry proves more than one that knows the markup."""

    def strategies(value: object) -> set[str]:
        if isinstance(value, dict):
            own = {value["strategy"]} if isinstance(value.get("strategy"), str) else set()
            return own.union(*map(strategies, value.values()))
        return set().union(*map(strategies, value)) if isinstance(value, list) else set()

    found = strategies(json.loads(plan.read_text(encoding="utf-8"))) & SELECTORS
    if found:
        raise HarnessError(f"expected no selectors in {plan.name}, saw {', '.join(sorted(found))}")


def by_plan(stage: Stage, url: str) -> list[str]:
    """The plan of a person, without selectors."""
    plan = PLANS / f"{stage.plan}.json"
    refuse_selectors(plan)
    return ["exec", str(plan), "--url", url]


@dataclass(frozen=True)
class Result:
    """What came of a part of the job."""

    stage: Stage
    answer: Answer
    after: World
    seconds: float

    @property
    def reached(self) -> bool:
        return self.answer.exit_code == 0 and self.after == self.stage.after


@contextmanager
def serving(python: Path) -> Iterator[tuple[str, subprocess.Popen, Path]]:
    """A new application that answers: its address, its process, its database."""
    project = make_project(python)
    port = free_port()
    url = f"http://127.0.0.1:{port}/admin/"
    with open(WORK / "django.log", "w", encoding="utf-8") as log:
        server = subprocess.Popen(
            [str(python), "manage.py", "runserver", "--noreload", f"127.0.0.1:{port}"],
            cwd=project,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            wait_for(url, server)
            yield url, server, project / "db.sqlite3"
        finally:
            stop_group(server)


def operate(python: Path, cuebook: str, chrome: str) -> list[Result]:
    """Does the job with a new application, until a part of it fails."""
    results = []
    with serving(python) as (url, _, database):
        for stage in STAGES:
            began = time.monotonic()
            arguments = [*by_plan(stage, url), "--json", "--out", str(WORK / "runs" / "django")]
            answer = run_cuebook(cuebook, arguments, chrome, RUN_LIMIT)
            results.append(Result(stage, answer, world(database), time.monotonic() - began))
            if not results[-1].reached:
                break
    return results


def told_of(step: dict) -> list[object]:
    """A step as a row of the table."""
    action = step.get("action") or {}
    verdicts = ", ".join(str(post.get("verdict")) for post in step.get("post") or [])
    shown = "" if step.get("origin") == "start" else action.get("targetRef") or action.get("url") or ""
    return [action.get("type"), shown, step.get("result"), verdicts, step.get("durationMs")]


def main() -> int:
    parser = arguments_of(__doc__, "django")
    parser.add_argument("--serve", action="store_true", help="only start the application, to look at it")
    options = parsed(parser)
    python = python_with_django()
    version = subprocess.check_output([str(python), "-m", "django", "--version"], text=True).strip()
    if options.serve:
        with serving(python) as (url, server, _):
            print(url, flush=True)
            return server.wait()
    results = operate(python, options.cuebook, options.chrome)

    wanted = len(STAGES)
    reached = sum(result.reached for result in results)
    parts = [
        {
            "part": result.stage.plan,
            "exitCode": result.answer.exit_code,
            "result": result.answer.result,
            "why": result.answer.why() or None,
            "users": result.after.users,
            "groups": result.after.groups,
            "seconds": round(result.seconds, 2),
            "report": result.answer.report,
        }
        for result in results
    ]
    write_json(WORK / "django.json", {"django": version, "success": reached == wanted, "parts": parts})
    overview: list[list[object]] = []
    for result in results:
        stage = result.stage
        told = stage.told if result.after == stage.after else f"**expected** {stage.told}; saw {result.after}"
        steps = (result.answer.report or {}).get("steps") or []
        overview.append([stage.plan, result.answer.result, told, len(steps), round(result.seconds, 1)])
    text = f"Django {version}: {reached} of {wanted} parts ended with `ok` and left the database as they should.\n\n"
    text += table(["part", "result", "the database says", "steps", "s"], overview)
    for result in results:
        if result.answer.why():
            text += f"\n\n{result.answer.why()}"
    text += "\n\nThe steps of the plans:\n\n"
    steps = [
        [result.stage.plan, *told_of(step)]
        for result in results
        for step in (result.answer.report or {}).get("steps") or []
    ]
    text += table(["part", "action", "target", "result", "postconditions", "ms"], steps) if steps else "none"
    publish(options, "django", text)
    return 0 if reached == wanted else 1


if __name__ == "__main__":
    run_harness(main)
