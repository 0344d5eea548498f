#!/usr/bin/env python3
"""Logs in on the built-in site with `examples/planner.py`, a planner that is a program, and asks the server whether it did.

Standard library only.
"""

import argparse
import json
import subprocess
import sys
import urllib.request

from common import ROOT, WORK, HarnessError, find_chrome, find_cuebook, run_cuebook, stop_group

TASK = "Log in as ann with password correct-horse"
RUN_LIMIT = 120.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuebook", help="the executable; target/debug/cuebook unless stated")
    parser.add_argument("--chrome", help="the executable; $CHROME or the usual names unless stated")
    options = parser.parse_args()
    options.chrome, options.cuebook = find_chrome(options.chrome), find_cuebook(options.cuebook)
    site = subprocess.Popen(
        [options.cuebook, "site", "--port", "0", "--json"], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        origin = json.loads(site.stdout.readline())["origin"]
        planner = f"exec:'{sys.executable}' '{ROOT / 'examples' / 'planner.py'}'"
        arguments = ["run", TASK, "--url", f"{origin}/login", "--planner", planner, "--json"]
        arguments += ["--out", str(WORK / "runs" / "planner")]
        answer = run_cuebook(options.cuebook, arguments, options.chrome, RUN_LIMIT)
        with urllib.request.urlopen(f"{origin}/state", timeout=10) as state:
            logins = json.load(state)["logins"]
    finally:
        stop_group(site)
    if answer.exit_code != 0 or logins != [{"user": "ann", "accepted": True}]:
        raise HarnessError(f"expected one login of ann, saw {logins}: {answer.why()}")
    print(f"{TASK}: {answer.report['answer']}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except HarnessError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
