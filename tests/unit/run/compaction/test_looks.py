"""How a compaction looks at tables: from their metadata, and through an engine only where that is not enough."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from catchment.errors import RequestError
from catchment.plan.model import Dataset, Partition
from catchment.project.model import Address, Catalog, Depot, Engine, Project
from catchment.run.compaction import lake_engines, whole_lake
from catchment.run.compaction.compaction_job import compact
from catchment.run.compaction.lake_engines import EnduringLake
from catchment.table_health import TableHealth, table_health
from tests.unit.run.compaction.lakes import NOW, compactor, part
from tests.unit.run.compaction.lakes import TABLE as FAKE
from tests.unit.run.compaction.lakes import lake_of as lake_of_parts

ADDRESS = "dataos://lake:raw/t"
TABLE = Dataset(ADDRESS, "lake", "iceberg", "raw", "t")
ROWS = pa.table({"id": [7]})
OF_AN_ENGINE = table_health(ADDRESS, "1", (8, 1), ())


@pytest.fixture
def project(tmp_path: Path) -> Project:
    lake = Depot("lake", "iceberg", str(tmp_path), Catalog(database=f"{tmp_path}/catalog.db"))
    url = f"sqlite:///{tmp_path / 'metastore.db'}"
    return Project(tmp_path, None, url, {"lake": lake}, {"default": Engine("default")})


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    with closing(SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}")) as catalog:
        catalog.create_namespace("raw")
        made = catalog.create_table("raw.t", ROWS.schema)
        made.append(ROWS)
        yield made


@dataclass
class FakeEngine:
    """Answers whatever it is asked, and counts its starts and ends."""

    asked: list[tuple[Any, ...]] = field(default_factory=list)
    starts: int = 0
    ends: int = 0

    def __enter__(self) -> FakeEngine:
        self.starts += 1
        return self

    def __exit__(self, *_: object) -> None:
        self.ends += 1

    def health(self, *asked: Any) -> TableHealth:
        self.asked.append(asked)
        return OF_AN_ENGINE

    inspect = health


def no_engine(*_: Any, **__: Any) -> Any:
    raise AssertionError("an engine was started")


def lake_of(project: Project | None, engine: FakeEngine) -> EnduringLake:
    opened: Any = lambda: engine  # noqa: E731
    return EnduringLake(opened, lambda _: None, threading.Event(), project)


def test_a_table_is_looked_at_without_an_engine_as_it_is_now(project: Project, table: Table) -> None:
    with EnduringLake(no_engine, no_engine, threading.Event(), project) as lake:
        first = lake.health(TABLE)
        assert first
        assert lake.health(TABLE, None, first.head) is None
        table.append(ROWS)
        second = lake.health(TABLE, None, first.head)
        assert second
        assert (first.files, second.files, first.head != second.head) == (1, 2, True)
        whole = Address("lake", None, None, None)
        assert [each["address"] for each in lake.inspect("tables", whole)["tables"]] == [ADDRESS]


def test_an_engine_is_asked_the_same_where_the_metadata_is_not_enough(
    project: Project, table: Table, tmp_path: Path
) -> None:
    engine, wanted = FakeEngine(), (Partition({"id": "7"}),)
    for metadata in tmp_path.rglob("*.metadata.json"):
        metadata.write_text("{")
    with lake_of(project, engine) as lake:
        assert lake.health(TABLE, 5, "known", wanted) is OF_AN_ENGINE
    assert (engine.asked, engine.starts) == ([(TABLE, 5, "known", wanted)], 1)


def test_an_engine_that_was_not_needed_for_long_ends(
    project: Project, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = FakeEngine()
    with lake_of(project, engine) as lake:
        lake._ask(lambda _: None)
        lake.health(TABLE)
        assert (engine.starts, engine.ends) == (1, 0)
        monkeypatch.setattr(lake_engines, "IDLE_SECONDS", -1.0)
        lake.health(TABLE)
        assert (engine.starts, engine.ends) == (1, 1)
        lake._ask(lambda _: None)
        assert engine.starts == 2


def test_where_there_is_nothing_to_compact_no_engine_is_started(project: Project, table: Table) -> None:
    assert compact(project, ADDRESS, launch=no_engine)["compactions"] == 0
    [looked_after] = whole_lake.maintain(project, once=True, launch=no_engine)["tables"]
    assert (looked_after["address"], looked_after["compactions"]) == (ADDRESS, 0)
    shown = compact(replace(project, maintain={}), ADDRESS, dry_run=True, launch=no_engine)
    assert shown["partitions"] == []


REFUSED = RequestError("the credentials are wrong", code="inspection-failed")
GONE = RequestError("there is no such table", code="table-not-found")


def test_continuous_outlives_what_keeps_it_from_looking_and_tells_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lake, told, looks, now = lake_of_parts(part("a")), list[str](), list[float](), [NOW]
    work = compactor(lake, tell=told.append)
    work.clock = lambda: now[0]

    def pause(seconds: float) -> bool:
        if lake.looks > len(looks):
            looks.append(now[0])
        now[0] += seconds
        lake.unreadable = {FAKE.address: REFUSED} if now[0] < NOW + 200 else {}
        lake.parts[FAKE.address] = [part("a", 6)]
        lake.commits += 1
        if lake.rewritten():
            work.stop.set()
        return False

    monkeypatch.setattr(work.stop, "wait", pause)
    assert work.continuous().compactions == 1
    assert [later - earlier for earlier, later in pairwise(looks[:6])] == [10, 10, 20, 40, 80]
    [line] = [each for each in told if "inspection-failed" in each]
    assert line == f"{FAKE.address} is looked at again later: error[inspection-failed]: the credentials are wrong"


@pytest.mark.parametrize("first", [True, False])
def test_continuous_ends_if_it_never_could_look_or_the_table_is_gone(
    monkeypatch: pytest.MonkeyPatch, *, first: bool
) -> None:
    lake = lake_of_parts(part("a"))
    work = compactor(lake)
    lake.unreadable = {FAKE.address: REFUSED} if first else {}

    def pause(_: float) -> bool:
        lake.unreadable = {FAKE.address: GONE}
        return False

    monkeypatch.setattr(work.stop, "wait", pause)
    with pytest.raises(RequestError) as ended:
        work.continuous()
    assert ended.value is (REFUSED if first else GONE)
