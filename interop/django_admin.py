#!/usr/bin/env python3
"""Creates a user in Django's admin with `cuebook exec`, and asks the database whether it is there.

The plan is `plans/django-create-user.json`: roles, names and labels only. Standard library only; Django
comes from its registry into a virtual environment of its own.
"""

import argparse
import os
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path

from common import (
    WORK,
    HarnessError,
    find_chrome,
    find_cuebook,
    run_cuebook,
    stop_group,
    table,
    write_block,
    write_json,
)

PACKAGE = "django>=5.2,<5.3"
PLAN = Path(__file__).parent / "plans" / "django-create-user.json"
SUPERUSER = ("operator", "Curtain-call-1843")
CREATED = "ada.lovelace"
START_LIMIT = 60.0
RUN_LIMIT = 180.0
POLL = 0.1


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


def users(database: Path) -> set[str]:
    """Names in the table of users: the oracle."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        return {row[0] for row in connection.execute("SELECT username FROM auth_user")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuebook", help="the executable; target/debug/cuebook unless stated")
    parser.add_argument("--chrome", help="the executable; $CHROME or the usual names unless stated")
    parser.add_argument("--docs", type=Path, help="a document whose block `django` gets the table")
    parser.add_argument("--serve", action="store_true", help="only start the application, to look at it")
    options = parser.parse_args()
    chrome, cuebook = find_chrome(options.chrome), find_cuebook(options.cuebook)
    python = python_with_django()
    version = subprocess.check_output([str(python), "-m", "django", "--version"], text=True).strip()
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
            if options.serve:
                print(url)
                return server.wait()
            before = users(project / "db.sqlite3")
            began = time.monotonic()
            arguments = ["exec", str(PLAN), "--url", url, "--json", "--out", str(WORK / "runs" / "django")]
            answer = run_cuebook(cuebook, arguments, chrome, RUN_LIMIT)
            seconds = time.monotonic() - began
            created = users(project / "db.sqlite3") - before
        finally:
            stop_group(server)

    steps = (answer.report or {}).get("steps") or []
    succeeded = answer.exit_code == 0 and created == {CREATED}
    write_json(
        WORK / "django.json",
        {
            "django": version,
            "success": succeeded,
            "created": sorted(created),
            "exitCode": answer.exit_code,
            "result": answer.result,
            "why": answer.why() or None,
            "seconds": round(seconds, 2),
            "report": answer.report,
        },
    )
    rows: list[list[object]] = []
    for step in steps:
        action = step.get("action") or {}
        target = action.get("targetRef") or action.get("url") or ""
        verdicts = ", ".join(str(post.get("verdict")) for post in step.get("post") or [])
        shown = "" if step.get("origin") == "start" else target
        rows.append([step.get("origin"), action.get("type"), shown, step.get("result"), verdicts, step.get("durationMs")])
    told = "is" if CREATED in created else "is not"
    text = f"Django {version}: `cuebook exec` ended with `{answer.result}` after {seconds:.1f} s; the user {told} in the database."
    if answer.why():
        text += f"\n\n{answer.why()}"
    if rows:
        text += "\n\n" + table(["origin", "action", "target", "result", "postconditions", "ms"], rows)
    print(text)
    if options.docs:
        write_block(options.docs, "django", text)
    return 0 if succeeded else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (HarnessError, subprocess.CalledProcessError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
