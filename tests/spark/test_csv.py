"""The header line of CSV files: written, read, and compared with the schema."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from catchment.plan.model import InputPlan
from tests.spark.lake import LiveEngine, files, job, output, reading, table, writing

SCHEMA = "id INT, name STRING"


def placed(directory: Path, **texts: str) -> Path:
    """A directory of CSV files."""
    directory.mkdir()
    for name, text in texts.items():
        (directory / f"{name}.csv").write_text(text)
    return directory


def csv(directory: Path, schema: str | None = None, **options: str) -> InputPlan:
    return replace(reading("rows", files(directory, "csv"), **options), schema=schema)


def read(engine: LiveEngine, source: InputPlan, name: str) -> list[tuple[object, ...]]:
    engine.run(job(output("rows", table(name)), inputs=[source]))
    return sorted(engine.rows(f"SELECT * FROM lake.raw.{name}"), key=str)


@pytest.mark.parametrize(
    ("schema", "options", "rows"),
    [
        (SCHEMA, {}, [(1, "a"), (2, "b")]),
        (None, {}, [("1", "a"), ("2", "b")]),
        (None, {"inferSchema": "true"}, [(1, "a"), (2, "b")]),
        (None, {"Header": "false"}, [("1", "a"), ("2", "b"), ("id", "name"), ("id", "name")]),
        ("ID INT, NAME STRING", {}, [(1, "a"), (2, "b")]),
    ],
)
def test_the_first_line_is_the_header_unless_told_otherwise(
    engine: LiveEngine,
    fresh: str,
    tmp_path: Path,
    schema: str | None,
    options: dict[str, str],
    rows: list[tuple[object, ...]],
) -> None:
    place = placed(tmp_path / "d", a="id,name\n1,a\n", b="id,name\n2,b\n")
    assert read(engine, csv(place, schema, **options), fresh) == rows


@pytest.mark.parametrize(
    ("schema", "texts"),
    [
        ("id STRING, name STRING", {"a": "name,id\na,1\n"}),
        ("id STRING, name STRING, extra STRING", {"a": "id,name\n1,a\n"}),
        ("id STRING", {"a": "id,name\n1,a\n"}),
        ("id STRING, name STRING", {"a": "1,a\n2,b\n"}),
        (None, {"a": "id,name\n1,a\n2,b\n", "b": "name,id\na,1\n"}),
    ],
)
def test_a_header_that_is_not_that_of_the_schema_is_refused(
    engine: LiveEngine, fresh: str, tmp_path: Path, schema: str | None, texts: dict[str, str]
) -> None:
    """Also where the schema is the header of another file."""
    place = placed(tmp_path / "d", **texts)
    failed = engine.fail(job(output("rows", table(fresh)), inputs=[csv(place, schema)]))
    assert failed.code == "header-mismatch"
    assert f"{place}/{max(texts)}.csv" in failed.message


def test_columns_without_a_name_or_with_the_same_name_get_names(engine: LiveEngine, fresh: str, tmp_path: Path) -> None:
    place = placed(tmp_path / "d", a=",id,id\n0,1,2\n")
    assert read(engine, csv(place), fresh) == [("0", "1", "2")]
    assert [name for name, *_ in engine.rows(f"DESCRIBE lake.raw.{fresh}")] == ["_c0", "id1", "id2"]


def test_files_are_written_with_a_header(engine: LiveEngine, fresh: str, tmp_path: Path) -> None:
    engine.run(writing("SELECT 1 AS id, 'a' AS name", files(tmp_path / "d", "csv")))
    engine.run(writing("SELECT 2 AS id, 'b' AS name", files(tmp_path / "bare", "csv"), options={"header": "false"}))
    texts = [part.read_text() for place in ("d", "bare") for part in (tmp_path / place).glob("part-*")]
    assert texts == ["id,name\n1,a\n", "2,b\n"]
    assert read(engine, csv(tmp_path / "d", SCHEMA), fresh) == [(1, "a")]
