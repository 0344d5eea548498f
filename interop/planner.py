#!/usr/bin/env python3
"""Logs in on the built-in site with `examples/planner.py`, a planner that is a program, and asks the server whether it did.

Standard library only.
"""

import json
import sys
import urllib.request

from common import ROOT, WORK, HarnessError, arguments_of, built_in_site, parsed, run_cuebook, run_harness

TASK = "Log in as ann with password correct-horse"
RUN_LIMIT = 120.0


def main() -> int:
    options = parsed(arguments_of(__doc__))
    with built_in_site(options.cuebook) as origin:
        planner = f"exec:'{sys.executable}' '{ROOT / 'examples' / 'planner.py'}'"
        arguments = ["run", TASK, "--url", f"{origin}/login", "--planner", planner, "--json"]
        arguments += ["--out", str(WORK / "runs" / "planner")]
        answer = run_cuebook(options.cuebook, arguments, options.chrome, RUN_LIMIT)
        with urllib.request.urlopen(f"{origin}/state", timeout=10) as state:
            logins = json.load(state)["logins"]
    if answer.exit_code != 0 or logins != [{"user": "ann", "accepted": True}]:
        raise HarnessError(f"expected one login of ann, saw {logins}: {answer.why()}")
    print(f"{TASK}: {answer.report['answer']}")
    return 0


if __name__ == "__main__":
    run_harness(main)
