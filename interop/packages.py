#!/usr/bin/env python3
"""Makes the packages of this platform, installs those of npm from their files, and compares `npx cuebook` with the program.

npm packs and installs without a registry. Standard library only here.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from common import ROOT, WORK, HarnessError, arguments_of, parsed, publish, run_harness, table

LIMIT = 60.0
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "harness", "version": "1"}},
}


def npm(folder: Path, *arguments: str) -> str:
    command = ["npm", *arguments, "--no-audit", "--no-fund", "--offline", "--silent"]
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True).stdout


def installed(cuebook: str, work: Path) -> Path:
    """The folder of a project in which the packages are installed."""
    packages = work / "package"
    cargo = os.environ.get("CARGO", "cargo")
    make = [cargo, "xtask", "package", "--binary", cuebook, "--out", str(packages)]
    subprocess.run(make, cwd=ROOT, stdin=subprocess.DEVNULL, check=True)
    programs = [folder for folder in (packages / "npm").iterdir() if folder.name != "cuebook"]
    if len(programs) != 1:
        raise HarnessError(f"expected the package of one platform, saw {programs}")
    files = {}
    for folder in (*programs, packages / "npm" / "cuebook"):
        name = json.loads((folder / "package.json").read_text(encoding="utf-8"))["name"]
        files[name] = (folder / npm(folder, "pack").strip()).as_uri()
    project = work / "project"
    project.mkdir()
    manifest = {"dependencies": files, "overrides": {name: f"${name}" for name in files if name != "cuebook"}}
    (project / "package.json").write_text(json.dumps(manifest), encoding="utf-8")
    npm(project, "install")
    return project


def ends(command: list[str], project: Path, **more: object) -> tuple[int, str]:
    """How a command ends, and what it prints."""
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=LIMIT, **more)
    return done.returncode, done.stdout


def ends_by(number: int, command: list[str], project: Path) -> tuple[int, str]:
    """How a server ends by a signal, which is sent once it serves."""
    server = subprocess.Popen([*command, "site", "--port", "0", "--json"], cwd=project, stdout=subprocess.PIPE, text=True)
    try:
        origin = json.loads(server.stdout.readline())["origin"]
        server.send_signal(number)
        code = server.wait(LIMIT)
    finally:
        server.kill()
    return code, "served" if origin else ""


def main() -> int:
    options = parsed(arguments_of(__doc__, "packages"))
    work = WORK / "packages"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    project = installed(options.cuebook, work)
    launcher, program = [str(project / "node_modules" / ".bin" / "cuebook")], [options.cuebook]
    session = json.dumps(INITIALIZE) + "\n"
    cases = {
        "prints its version": lambda command: ends([*command, "--version"], project, stdin=subprocess.DEVNULL),
        "exits with the code of wrong usage": lambda command: ends([*command, "fly"], project),
        "exits with the code of a plan that is none": lambda command: ends([*command, "check", "package.json"], project),
        "answers an MCP client, and ends with its input": lambda command: ends([*command, "mcp"], project, input=session),
        "ends by SIGTERM": lambda command: ends_by(signal.SIGTERM, command, project),
        "ends by SIGINT": lambda command: ends_by(signal.SIGINT, command, project),
    }
    rows, short = [], []
    for title, case in cases.items():
        (code, printed), expected = case(launcher), case(program)
        is_same = (code, printed) == expected
        rows.append([title, str(code), "yes" if is_same else f"no: {expected[0]}"])
        if not is_same:
            short.append(f"{title}: expected {expected}, saw {(code, printed)}")
    npx = ends(["npx", "--no-install", "cuebook", "--version"], project, stdin=subprocess.DEVNULL)
    if npx != ends([*program, "--version"], project):
        short.append(f"npx cuebook --version: saw {npx}")
    for folder in (project / "node_modules" / "@cuebook").iterdir():
        shutil.rmtree(folder)
    without = subprocess.run(launcher, cwd=project, capture_output=True, text=True)
    if without.returncode != 1 or "expected the package @cuebook/" not in without.stderr:
        short.append(f"without the package of the platform: saw {without}")
    publish(options, "packages", table(["`npx cuebook`", "exit code", "as the program"], rows))
    for line in short:
        print(f"error: {line}", file=sys.stderr)
    return 1 if short else 0


if __name__ == "__main__":
    run_harness(main)
