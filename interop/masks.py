"""How fast XGrammar and llguidance compile and mask the grammars that `cuebook schema` writes.

For pages of 10, 100 and 1,000 controls, each dialect that goes to servers with one of both engines is compiled for
vocabularies of 50,000 and 200,000 tokens, and random sentences are written under its masks (`measure_masks.py`). Fails if
a grammar takes more than a second to compile, or one mask in a hundred more than a millisecond.
"""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from common import ROOT, WORK, HarnessError, arguments_of, parsed, publish, run_harness, table

PAGES = (10, 100, 1000)
DIALECTS = ("json-schema", "openai", "compatible", "lark", "ebnf")
PACKAGES = ("llguidance==1.9.1", "numpy", "apache-tvm-ffi", "pydantic", "typing-extensions")
# Without what it declares: PyTorch and transformers are gigabytes that masks do not need.
XGRAMMAR = "xgrammar==0.2.8"
# Some 50,000 and 200,000 tokens.
VOCABULARIES = ("p50k_base", "o200k_base")
COMPILE_LIMIT_MS = 1_000
MASK_LIMIT_MS = 1
RESULTS = ROOT / "bench" / "masks.json"
QUIET = {"check": True, "stdout": subprocess.DEVNULL}


def page(controls: int) -> str:
    """Controls of all kinds, in rows, as an application's page has them."""
    kinds = [
        '<label>Name {0} <input name="name{0}"></label>',
        '<button type="button">Save row {0}</button>',
        '<label><input type="checkbox" name="box{0}"> Choose {0}</label>',
        '<a href="/orders/{0}">Order {0}</a>',
        '<label>State {0} <select name="state{0}"><option>open</option><option>paid</option></select></label>',
    ]
    rows = "".join(f"<p>{kinds[number % len(kinds)].format(number)}</p>" for number in range(controls))
    return f"<!doctype html><title>{controls} controls</title><form>{rows}</form>"


@contextlib.contextmanager
def serving():
    """The address of a server of such pages: /10 has ten controls."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            name = self.path.strip("/")
            self.send_response(200 if name.isdigit() else 404)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(page(int(name)).encode() if name.isdigit() else b"")

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def engines() -> str:
    """A Python that has both engines."""
    venv = WORK / "masks-venv"
    python = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    ready = venv / "ready"
    if not ready.is_file():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], **QUIET)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], **QUIET)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--no-deps", XGRAMMAR], **QUIET)
        ready.touch()
    return str(python)


def vocabularies() -> list[Path]:
    """Those of the crate `tiktoken-rs`, which the benchmarks use."""
    metadata = subprocess.run(
        ["cargo", "metadata", "--format-version", "1"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    packages = json.loads(metadata)["packages"]
    manifest = next((one["manifest_path"] for one in packages if one["name"] == "tiktoken-rs"), None)
    if manifest is None:
        raise HarnessError("expected tiktoken-rs among the packages of the workspace, saw none")
    return [Path(manifest).parent / "assets" / f"{name}.tiktoken" for name in VOCABULARIES]


def write_grammars(options: argparse.Namespace, into: Path) -> None:
    """One file for each page and dialect."""
    environment = {**os.environ, "CHROME": options.chrome}
    pages = into.parent / "pages"
    pages.mkdir(parents=True)
    into.mkdir()
    with serving() as url:
        for size in PAGES:
            seen = pages / f"{size}.json"
            observe = [options.cuebook, "observe", f"{url}/{size}", "--format", "json"]
            seen.write_bytes(subprocess.run(observe, check=True, capture_output=True, env=environment).stdout)
            for dialect in DIALECTS:
                write = [options.cuebook, "schema", "--target", dialect, "--observation", str(seen), "--json"]
                body = json.loads(subprocess.run(write, check=True, capture_output=True).stdout)["body"]
                if dialect == "openai":
                    body = body["json_schema"]["schema"]
                text = body if isinstance(body, str) else json.dumps(body, separators=(",", ":"))
                (into / f"{size}.{dialect}").write_text(text)


def main() -> int:
    options = parsed(arguments_of(__doc__, "masks"))
    work = WORK / "masks"
    shutil.rmtree(work, ignore_errors=True)
    write_grammars(options, work / "grammars")
    measure = [engines(), str(ROOT / "interop" / "measure_masks.py"), "--grammars", str(work / "grammars")]
    for path in vocabularies():
        measure += ["--vocabulary", str(path)]
    printed = subprocess.run(measure, check=True, stdout=subprocess.PIPE, text=True).stdout
    rows = [json.loads(line) for line in printed.splitlines()]
    head = ["engine", "tokens", "dialect", "controls", "bytes", "compile, ms", "mask p50, ms", "mask p99, ms"]
    names = ["engine", "vocabulary", "dialect", "controls", "grammarBytes", "compileMs", "maskP50Ms", "maskP99Ms"]
    text = table(head, [[f"{row[name]:,}" if isinstance(row[name], int) else row[name] for name in names] for row in rows])
    publish(options, "masks", text)
    if options.docs:
        RESULTS.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    slow = [row for row in rows if row["compileMs"] > COMPILE_LIMIT_MS or row["maskP99Ms"] > MASK_LIMIT_MS]
    for row in slow:
        print(f"expected at most {COMPILE_LIMIT_MS} ms to compile and {MASK_LIMIT_MS} ms a mask, saw {row}", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    run_harness(main)
