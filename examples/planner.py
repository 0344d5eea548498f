"""A planner for cuebook in Python: each line in is a request, each line out is a plan.

cuebook run "Log in as ann with password correct-horse" --url http://127.0.0.1:8737/login \
    --planner exec:"python3 examples/planner.py"
"""

import json
import re
import sys

for line in sys.stdin:
    request = json.loads(line)
    page = request["context"]["page"]
    ids = {(item["role"], item["label"]): item["id"] for item in page["interactables"]}
    done = [entry["step"]["type"] for entry in request["history"] if "failure" not in entry]
    login = re.search(r"as (\S+) with password (\S+)", request["goal"])
    if "click" in done:
        steps = [{"type": "finish", "result": page["url"]}]
    elif login and ("textbox", "Password") in ids:
        steps = [
            {"type": "type", "targetRef": ids["textbox", "Email"], "text": login[1]},
            {"type": "type", "targetRef": ids["textbox", "Password"], "text": login[2]},
            {"type": "click", "targetRef": ids["button", "Log in"], "post": [{"kind": "urlChanges"}]},
        ]
    else:
        steps = [{"type": "fail", "reason": "this planner only logs in"}]
    print(json.dumps({"version": "1.0", "steps": steps}), flush=True)
