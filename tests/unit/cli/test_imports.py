"""Every verb loads what it needs and nothing else: what a person waits for is mostly imports."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tests.unit.formats.iceberg import tables

PROGRAM = """
import contextlib, io, json, sys
from catchment.cli.program import program
answer = io.StringIO()
with contextlib.redirect_stdout(answer):
    program.main(args=sys.argv[1:], prog_name="catchment", standalone_mode=False)
print(json.dumps([sorted(sys.modules), answer.getvalue()]))
"""
SPARK = {"pyspark", "py4j"}
READERS = {"pyiceberg", "deltalake", "pyarrow", "numpy", "pandas", "duckdb", "requests"}
ENGINES = {"catchment.engine.protocol", "catchment.engine.launcher", "catchment.run.lake", "catchment.run.execution"}
METASTORE = {"sqlalchemy", "catchment.store"}
OTHERS = {
    *("psycopg", "sqlalchemy.dialects.postgresql", "sqlglot", "croniter", "stamina", "prompt_toolkit", "rich.console"),
    *("catchment.spec.grammar.job", "catchment.plan.preparation"),
}
TABLE, FILES = "dataos://lake:raw/t", "dataos://filled:raw/t"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one table that has metadata alone, and one that has files."""
    root = tmp_path_factory.mktemp("project")
    depots = (f"{name}: {{kind: iceberg, location: ./{name}}}" for name in ("lake", "filled"))
    (root / "catchment.yaml").write_text(f"depots: {{{', '.join(depots)}}}\n")
    tables.make(root / "lake")
    fill(root / "filled")
    return root


def fill(place: Path) -> None:
    """Make a table with a row in a partition."""
    place.mkdir()
    with closing(SqlCatalog("filled", uri=f"sqlite:///{place}/catalog.db", warehouse=f"file://{place}")) as catalog:
        catalog.create_namespace("raw")
        rows = pa.table({"id": [7]})
        table = catalog.create_table("raw.t", rows.schema)
        with table.update_spec() as spec:
            spec.add_identity("id")
        table.append(rows)


@pytest.mark.parametrize(
    ("verb", "unneeded"),
    [
        (("runs",), SPARK | READERS | ENGINES | OTHERS | {"catchment.plan.model"}),
        (("writers",), SPARK | READERS | ENGINES | OTHERS | {"catchment.plan.model"}),
        (("state", "ls"), SPARK | READERS | ENGINES | OTHERS),
        (("ticks",), SPARK | READERS | ENGINES | OTHERS),
        (("services", "ls"), SPARK | READERS | ENGINES | OTHERS),
        (("table", "ls", "lake"), SPARK | READERS | ENGINES | OTHERS | METASTORE),
        (("table", "show", TABLE), SPARK | READERS | ENGINES | OTHERS | METASTORE),
        (("table", "snapshots", TABLE), SPARK | READERS | ENGINES | OTHERS | METASTORE),
        (("table", "versions", TABLE), SPARK | READERS | ENGINES | OTHERS | METASTORE),
        (("table", "metadata", TABLE), SPARK | READERS | ENGINES | OTHERS | METASTORE),
        (("table", "files", FILES), SPARK | READERS - {"pyiceberg"} | ENGINES | OTHERS | METASTORE),
        (("table", "partitions", FILES), SPARK | READERS - {"pyiceberg"} | ENGINES | OTHERS | METASTORE),
        (("table", "health", FILES), SPARK | READERS - {"pyiceberg"} | ENGINES | OTHERS | METASTORE),
        (("schema", "project"), SPARK | READERS | ENGINES | METASTORE),
        (("--help",), SPARK | READERS | ENGINES | OTHERS | METASTORE | {"pydantic", "yaml"}),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_a_verb_loads_only_what_it_needs(project: Path, verb: tuple[str, ...], unneeded: set[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *verb], cwd=project, capture_output=True, text=True, check=True
    )
    loaded, answer = json.loads(done.stdout)
    assert sorted(unneeded.intersection(loaded)) == []
    assert not verb[0].startswith("table") or "raw" in answer or "7" in answer
