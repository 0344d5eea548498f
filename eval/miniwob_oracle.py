#!/usr/bin/env python3
"""An oracle planner for MiniWoB++: rules that read the utterance and the page, and nothing else.

    cuebook run "…" --url … --profile unleashed --planner "exec:python3 eval/miniwob_oracle.py"

One request a line in, one plan a line out. Standard library only.
"""

import sys

from oracle import serve

if __name__ == "__main__":
    serve.main(sys.stdin, sys.stdout)
