"""Plain files in and out."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest

from catchment.formats.files.compaction import MIN_INPUT_FILES
from catchment.plan.model import FileAddress, InputPlan, Partition, Rewrite, Sort
from catchment.spec.model import SortColumn
from catchment.table_health import MOST_PARTITIONS
from tests.spark.lake import HERE, LENIENT, SMALL, LiveEngine, by, files, job, output, reading, table, writing


def file_sizes(place: Path) -> dict[str, int]:
    """The sizes of all files below a directory."""
    return {str(each.relative_to(place)): each.stat().st_size for each in place.rglob("*") if each.is_file()}


def cut(file: Path) -> None:
    """Let a file end in the middle."""
    os.truncate(file, file.stat().st_size // 2)


def overwrite(file: Path) -> None:
    """Damage the rows of a file; what it says of itself at its end stays."""
    with file.open("r+b") as contents:
        contents.seek(4)
        contents.write(b"\xff" * (file.stat().st_size // 2))


def read_back(engine: LiveEngine, path: Path, format: str, name: str, **more: str) -> list[tuple[object, ...]]:
    """The rows at a path, taken through a job and a table."""
    engine.run(job(output("rows", table(name)), inputs=[reading("rows", files(path, format), **more)]))
    return sorted(engine.rows(f"SELECT * FROM lake.raw.{name}"), key=str)


@pytest.mark.slow
@pytest.mark.parametrize(("format", "damage"), [("parquet", cut), ("parquet", overwrite), ("orc", overwrite)])
def test_a_compaction_takes_no_damaged_file_for_an_empty_one(
    start_engine: Callable[..., LiveEngine], tmp_path: Path, format: str, damage: Callable[[Path], None]
) -> None:
    engine, place = start_engine(conf={**SMALL, **LENIENT}), files(tmp_path / "d", format)
    for number in range(MIN_INPUT_FILES):
        sql = "SELECT sha2(string(id), 256) AS text FROM range(100)"
        engine.run(writing(sql, place, name=f"w{number}", mode="append"))
    damaged = min((tmp_path / "d").glob("part-*"))
    damage(damaged)
    before = file_sizes(tmp_path / "d")
    refused = engine.start_maintenance(place, Rewrite()).failed()
    assert (refused.code, damaged.name in refused.message) == ("input-damaged", True)
    assert file_sizes(tmp_path / "d") == before


@pytest.mark.slow
def test_a_partition_that_somebody_names_is_listed_among_very_many(engine: LiveEngine, tmp_path: Path) -> None:
    target, mine = files(tmp_path / "d", "parquet"), Partition({"region": "north east", "day": "1"})
    engine.run(writing("SELECT 1 AS id", target))
    [written] = (tmp_path / "d").glob("part-*")
    others = (f"day={number}/region=south" for number in range(MOST_PARTITIONS))
    for directory in ("day=1/region=north%20east", *others):  # another tool escapes spaces
        (tmp_path / "d" / directory).mkdir(parents=True)
        for number in range(3 if "south" in directory else 2):
            shutil.copy(written, tmp_path / "d" / directory / f"part-{number}.parquet")
    written.unlink()

    found = engine.health(target, wanted=[mine])
    assert (found.partition_count, len(found.partitions)) == (MOST_PARTITIONS + 1, MOST_PARTITIONS + 1)
    assert found.partitions[-1].partition == mine.values
    assert len(engine.health(target).partitions) == MOST_PARTITIONS
    rewrite = Rewrite(properties={"min-input-files": "2"}, partitions=(mine,))
    assert engine.maintain(target, rewrite)["rewritten_files"] == 2
    assert len(list((tmp_path / "d" / "day=1" / "region=north%20east").glob("part-*"))) == 1


@pytest.mark.parametrize("format", ["json", "parquet", "orc", "avro", "csv"])
def test_every_format_comes_back(engine: LiveEngine, fresh: str, tmp_path: Path, format: str) -> None:
    options = {"inferSchema": "true"} if format == "csv" else {}
    sql = "SELECT CAST(id AS INT) AS id, concat('n', id) AS text FROM range(3)"
    [report] = engine.run(writing(sql, files(tmp_path / "d", format)))
    assert (report.rows, report.snapshot_id) == (3, None)
    assert report.files == len(list((tmp_path / "d").glob("part-*")))
    assert read_back(engine, tmp_path / "d", format, fresh, **options) == [(0, "n0"), (1, "n1"), (2, "n2")]


def test_text(engine: LiveEngine, fresh: str, tmp_path: Path) -> None:
    engine.run(writing("SELECT concat('line ', id) AS value FROM range(2)", files(tmp_path / "d", "text")))
    assert read_back(engine, tmp_path / "d", "text", fresh) == [("line 0",), ("line 1",)]


@pytest.mark.slow
def test_modes_and_partitions(engine: LiveEngine, fresh: str, tmp_path: Path) -> None:
    place = files(tmp_path / "d", "parquet")
    spec = (by("identity", "part"),)

    def write(sql: str, mode: str) -> int | None:
        [report] = engine.run(writing(sql, place, mode=mode, partitions=spec, compression="gzip"))
        return report.files

    assert write("SELECT 1 AS id, 'a' AS part UNION ALL SELECT 2, 'b'", "overwrite") == 2
    assert write("SELECT 3 AS id, 'a' AS part", "append") == 1
    assert read_back(engine, tmp_path / "d", "parquet", f"{fresh}a") == [(1, "a"), (2, "b"), (3, "a")]
    assert write("SELECT 4 AS id, 'a' AS part", "overwrite-partitions") == 1
    assert read_back(engine, tmp_path / "d", "parquet", f"{fresh}b") == [(2, "b"), (4, "a")]
    assert write("SELECT 5 AS id, 'c' AS part", "overwrite") == 1
    assert read_back(engine, tmp_path / "d", "parquet", f"{fresh}c") == [(5, "c")]
    assert list((tmp_path / "d" / "part=c").glob("*.gz.parquet"))


def test_sorted_files(engine: LiveEngine, tmp_path: Path) -> None:
    sort = Sort("global", (SortColumn("id", descending=True),))
    engine.run(writing("SELECT id FROM range(50)", files(tmp_path / "d", "csv"), sort=sort))
    written = [[int(line) for line in part.read_text().split()[1:]] for part in sorted((tmp_path / "d").glob("part-*"))]
    assert list(chain(*written)) == list(range(49, -1, -1))


def test_a_transform_is_refused(engine: LiveEngine, tmp_path: Path) -> None:
    work = writing("SELECT now() AS ts", files(tmp_path / "d", "parquet"), partitions=(by("month", "ts"),))
    assert engine.fail(work).code == "partition-invalid"


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ("id BIGINT, text STRING", "spark"),
        (
            '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},'
            '{"name":"text","type":"string","nullable":true,"metadata":{}}]}',
            "spark",
        ),
        (
            '{"type":"record","name":"r","fields":[{"name":"id","type":"long"},'
            '{"name":"text","type":["null","string"]}]}',
            "avro",
        ),
    ],
)
def test_given_schemas(engine: LiveEngine, fresh: str, tmp_path: Path, schema: str, kind: str) -> None:
    (tmp_path / "a.json").write_text('{"id": 1, "text": "x", "more": true}\n')
    source = InputPlan("rows", files(tmp_path / "a.json", "json"), HERE, schema=schema, schema_type=kind)  # type: ignore[arg-type]
    engine.run(job(output("rows", table(fresh)), inputs=[source]))
    assert engine.ask(f"SELECT * FROM lake.raw.{fresh}").columns == ("id", "text")


def test_a_schema_in_a_file(engine: LiveEngine, fresh: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"id": 1, "text": "x", "more": true}\n')
    (tmp_path / "a.ddl").write_text("id BIGINT, text STRING")
    place = FileAddress("dataos://drop:none/a.ddl", "drop", str(tmp_path / "a.ddl"))
    source = InputPlan("rows", files(tmp_path / "a.json", "json"), HERE, schema_file=place)
    engine.run(job(output("rows", table(fresh)), inputs=[source]))
    assert engine.ask(f"SELECT * FROM lake.raw.{fresh}").columns == ("id", "text")
    for bad in (tmp_path / "missing.ddl", tmp_path):
        lost = replace(source, schema_file=replace(place, path=str(bad)))
        assert engine.fail(job(output("rows", table(fresh)), inputs=[lost])).code == "schema-not-found"


def test_a_broken_schema(engine: LiveEngine, fresh: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"id": 1}\n')
    source = InputPlan("rows", files(tmp_path / "a.json", "json"), HERE, schema="id NO SUCH TYPE")
    assert engine.fail(job(output("rows", table(fresh)), inputs=[source])).code == "schema-invalid"
