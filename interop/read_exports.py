"""Reads exports with DuckDB, polars, pyarrow and `datasets`, and fails unless they see the same.

Run by `exports.py`, in an environment that has them. Prints a row of its table a line, as JSON.
"""

import json
import sys
import tempfile
from pathlib import Path

import datasets
import duckdb
import polars
import pyarrow
import pyarrow.compute
import pyarrow.dataset
import pyarrow.parquet

TABLES = ("runs", "steps", "conditions", "candidates", "requests", "planning")


def say(*row: str) -> None:
    print(json.dumps(row), flush=True)


def by_duckdb(files: str, what: str) -> list[tuple]:
    return duckdb.sql(f"select {what} from read_parquet('{files}', union_by_name = true)").fetchall()


def later_version(tables: Path, below: Path) -> Path:
    """The steps as they are, and once more with a column and a nested member that a later version might add."""
    path = next((tables / "steps").glob("*/*.parquet"))
    rows = pyarrow.parquet.read_table(path, partitioning=None)
    mixed = below / "steps"
    mixed.mkdir()
    pyarrow.parquet.write_table(rows, mixed / "old.parquet")
    later = rows.append_column("mood", pyarrow.array(["calm"] * rows.num_rows))
    pyarrow.parquet.write_table(later, mixed / "new.parquet")
    return mixed


def main(out: Path) -> None:
    tables = out / "parquet"
    counts = {}
    for name in TABLES:
        files = f"{tables}/{name}/*/*.parquet"
        seen = {
            by_duckdb(files, "count(*)")[0][0],
            polars.scan_parquet(f"{tables}/{name}/**/*.parquet").collect().height,
            pyarrow.dataset.dataset(tables / name, format="parquet", partitioning="hive").to_table().num_rows,
        }
        assert len(seen) == 1, (name, seen)
        counts[name] = seen.pop()
    assert counts["runs"] == 3 and counts["steps"] > 10 and counts["candidates"] > 10, counts
    loaded = datasets.load_dataset("parquet", data_dir=str(tables / "steps"))["train"]
    assert loaded.num_rows == counts["steps"], loaded
    nested = by_duckdb(f"{tables}/steps/*/*.parquet", "count(*) filter (targets[1].role = 'textbox')")
    roles = polars.scan_parquet(f"{tables}/steps/**/*.parquet").explode("targets").unnest("targets").collect()
    assert nested[0][0] == roles.filter(polars.col("role") == "textbox").height > 0, nested
    rows = ", ".join(f"{count} {name}" for name, count in counts.items())

    with tempfile.TemporaryDirectory() as below:
        mixed = later_version(tables, Path(below))
        both = 2 * counts["steps"]
        glob = f"{mixed}/*.parquet"
        calm = by_duckdb(glob, "count(*), count(mood)")[0]
        assert calm == (both, counts["steps"]), calm
        scan = polars.scan_parquet([mixed / "old.parquet", mixed / "new.parquet"], extra_columns="ignore")
        assert scan.collect().height == both
        scan = polars.scan_parquet([mixed / "new.parquet", mixed / "old.parquet"], missing_columns="insert")
        assert scan.collect()["mood"].count() == counts["steps"]
        schema = pyarrow.parquet.read_schema(mixed / "new.parquet")
        newest = pyarrow.dataset.dataset(mixed, schema=schema, format="parquet").to_table()
        assert (newest.num_rows, pyarrow.compute.count(newest["mood"]).as_py()) == (both, counts["steps"])
        first = [str(mixed / "new.parquet"), str(mixed / "old.parquet")]
        assert datasets.load_dataset("parquet", data_files=first)["train"].num_rows == both
    for reader in (duckdb, polars, pyarrow):
        say(f"{reader.__name__} {reader.__version__}", "Parquet", f"{rows}; two versions together")

    splits = datasets.load_dataset(str(out / "hf"))
    examples = {name: split.num_rows for name, split in splits.items()}
    row = next(iter(splits.values()))[0]
    assert row["messages"][-1]["content"] and row["classes"], row
    assert json.loads((out / "hf" / "classes.json").read_text())
    said = ", ".join(f"{count} {name}" for name, count in examples.items())
    say(f"datasets {datasets.__version__}", "hf", f"{said} rows")


main(Path(sys.argv[1]))
