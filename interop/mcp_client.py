"""A client of MCP servers: the package `mcp` of PyPI, installed below `target/interop`.

`with_package` runs a script again where the package is; the rest works only there.
"""

import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from common import WORK, HarnessError

CLIENT = "mcp==2.3.0"
VENV = WORK / "mcp"
CALL_LIMIT = 60.0


def python_with_client() -> str:
    """The interpreter of a virtual environment with the package in it, made where it is missing."""
    python = VENV / ("Scripts" if os.name == "nt" else "bin") / "python"
    quiet = {"stdin": subprocess.DEVNULL, "check": True}
    if not python.is_file():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], **quiet)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", CLIENT], **quiet)
    return str(python)


def with_package(main: Callable[[], int]) -> int:
    """Runs `main` in an interpreter that has the package: this one, or a child with the same arguments."""
    if sys.prefix == str(VENV):
        return main()
    return subprocess.run([python_with_client(), *sys.argv]).returncode


def node_package(folder: str, *packages: str) -> str:
    """The folder with the programs of packages of npm, installed where they are missing."""
    prefix = WORK / folder
    command = ["npm", "install", "--silent", "--no-save", "--ignore-scripts", "--prefix", str(prefix), *packages]
    subprocess.run(command, stdin=subprocess.DEVNULL, check=True)
    return str(prefix / "node_modules" / ".bin")


class Held:
    """A server, held by a client."""

    def __init__(self, client: object, **always: object) -> None:
        self.client = client
        self.always = always
        self.questions = 0

    def of_session(self, name: str) -> "Held":
        """The same server; each call names this session."""
        return Held(self.client, session=name)

    async def tools(self) -> list[object]:
        return (await self.client.list_tools()).tools

    async def call(self, tool: str, may_fail: bool = False, **arguments: object) -> tuple[float, str]:
        """Milliseconds, and the text of the answer."""
        began = time.perf_counter()
        sent = {**arguments, **self.always}
        result = await self.client.call_tool(tool, sent, read_timeout_seconds=CALL_LIMIT)
        took = (time.perf_counter() - began) * 1_000
        text = "".join(part.text for part in result.content if part.type == "text")
        if result.is_error and not may_fail:
            raise HarnessError(f"{tool} {arguments}: {text[:400]}")
        return took, text


@asynccontextmanager
async def holding(
    command: list[str], mode: str = "legacy", on_question: Callable[[str], Awaitable[bool]] | None = None
) -> AsyncIterator[Held]:
    """Starts a server over standard input and output. With `on_question`, the client declares elicitation."""
    from mcp import Client, StdioServerParameters
    from mcp.types import ElicitResult

    async def elicited(_: object, asked: object) -> object:
        is_agreed = await on_question(asked.message)
        return ElicitResult(action="accept", content={}) if is_agreed else ElicitResult(action="decline")

    # What a server leaves where it runs is nothing of the repository.
    server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ), cwd=WORK)
    try:
        async with Client(server, mode=mode, elicitation_callback=on_question and elicited) as client:
            yield Held(client)
    except BaseExceptionGroup as group:
        # The package wraps what its user raised once for each of its layers.
        cause: BaseException = group
        while isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        raise cause from None
