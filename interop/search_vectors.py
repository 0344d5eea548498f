#!/usr/bin/env python3
"""Searches an export to vectors with DuckDB, and fails unless like pages are near and vectors are as documented.

Run by `exports.py`, in an environment that has duckdb. Prints a row of its table as JSON.
"""

import hashlib
import json
import math
import sys
from pathlib import Path

import duckdb

NEAREST = """
WITH plans AS (SELECT * REPLACE (page_vector::FLOAT[256] AS page_vector) FROM read_parquet('{files}'))
SELECT other.task, other.steps_json, array_cosine_similarity(here.page_vector, other.page_vector) AS likeness
FROM plans here JOIN plans other ON other.site = here.site AND other.run_id <> here.run_id
WHERE here.run_id = '{run}' AND other.outcome = 'ok'
ORDER BY likeness DESC LIMIT 3
"""


def vector(features: list[str]) -> list[float]:
    """As docs/export.md has it."""
    sums = [0] * 256
    for feature in set(features):
        for i, byte in enumerate(hashlib.sha256(feature.encode()).digest()):
            for bit in range(8):
                sums[8 * i + bit] += 1 if byte >> bit & 1 else -1
    length = math.sqrt(sum(x * x for x in sums))
    return [x / length for x in sums]


def features(task: str | None, steps: list[dict], candidates: dict[str, dict]) -> list[str]:
    """Those of a plan, where targets are by the ids of the page's candidates."""
    words = "".join(c if c.isalnum() else " " for c in task or "").split()
    found = [f"task {word.lower()}" for word in words]
    for step in steps:
        target = candidates.get(step.get("targetRef", ""))
        verb = step["type"]
        if target is None:
            found.append(verb)
            continue
        found.append(f"{verb} {target['role']} {target['name']}")
        if target["test_id"]:
            found.append(f"{verb} {target['role']} {target['test_id']}")
    return ["".join(c for c in feature if c not in "0123456789") for feature in found]


def main(out: Path) -> None:
    files = f"{out}/vectors/vectors/*/*.parquet"
    rows = duckdb.sql(
        f"select run_id, observation, task, steps_json, plan_vector, len(page_vector) from read_parquet('{files}')"
    ).fetchall()
    assert rows, "no plan was made for a page"
    assert {row[5] for row in rows} == {256}, rows[0][5]
    checked = 0
    for run, observation, task, steps, seen, _ in rows:
        page = duckdb.sql(
            f"select candidate, role, name, test_id from read_parquet('{out}/candidates-of-vectors/candidates/*/*.parquet') "
            f"where run_id = '{run}' and observation = {observation}"
        ).fetchall()
        candidates = {candidate: {"role": role, "name": name, "test_id": test_id} for candidate, role, name, test_id in page}
        expected = vector(features(task, json.loads(steps), candidates))
        assert max(abs(a - b) for a, b in zip(expected, seen)) < 1e-6, (run, task, steps)
        checked += 1
    # Two logins, and a click on another page of the same site: to the one login, the other is as near as can be, and nearer
    # than the click.
    first = next(run for run, _, task, *_ in rows if task.startswith("log in"))
    nearest = duckdb.sql(NEAREST.format(files=files, run=first)).fetchall()
    (task, _, likeness), (other, _, unlikeness) = nearest
    assert task.startswith("log in") and likeness > 0.99 and other.startswith("click") and unlikeness < 0.8, nearest
    said = f"{checked} plans; the like page at {likeness:.2f}, the other at {unlikeness:.2f}"
    print(json.dumps([f"duckdb {duckdb.__version__}", "vectors", said]), flush=True)


main(Path(sys.argv[1]))
