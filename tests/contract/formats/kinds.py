"""The formats that keep the contract, what each has of its own, and what each one cannot do and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from catchment.plan.model import Dataset
from tests.concurrency.invariants import check as check_table
from tests.spark.lake import LiveEngine, delta_table, files, table

BEFORE_SEAL = ("before-data-written", "data-written", "before-sealed")
NO_SNAPSHOTS = "plain files have no snapshots: a reader sees what lies in the directories at that moment"
NO_SCHEMA = "plain files have no schema of their own: Spark takes that of one of the files"

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Kind:
    """One format."""

    name: str
    dataset: Callable[[Path, str], Dataset]
    """A dataset that nobody has written, below a root."""
    relation: Callable[[Dataset], str]
    """What a query names to read it."""
    lost_at: tuple[str, ...]
    """Points of the commit path at which a kill loses the write until the job runs again."""
    kept_at: tuple[str, ...]
    """Points from which on a kill cannot lose it."""
    half_way: str
    """Where a publish has begun and not ended."""
    gaps: Mapping[str, str] = field(default_factory=dict)
    """Tests of the contract that fail, with the reason; one that passes is no gap and fails the suite."""
    quick: tuple[str, ...] = ()
    """The points of the plain suite; the rest of the matrix takes minutes."""

    def rows(self, engine: LiveEngine, target: Dataset, what: str = "id, mark, part") -> list[Row]:
        """The rows of a dataset, in order; none where it has no files."""
        if target.path and not any(Path(target.path).rglob("[!._]*.*")):
            return []
        return engine.rows(f"SELECT {what} FROM {self.relation(target)} ORDER BY ALL")

    def check(self, engine: LiveEngine, target: Dataset) -> None:
        """What must hold of every dataset that nobody writes."""
        if target.format == "iceberg":
            check_table(engine, str(target.table))
        elif target.path:
            assert list(Path(target.path).parent.glob(f".catchment-stage/.{Path(target.path).name}/*")) == []


def _by_path(target: Dataset) -> str:
    return f"{target.format}.`{target.path}`"


def _csv(target: Dataset) -> str:
    """Files without a header: the columns have numbers."""
    return f"(SELECT CAST(_c0 AS BIGINT) AS id, _c1 AS mark, part FROM csv.`{target.path}`)"


def _files(format: str, *, quick: tuple[str, ...] = (), **gaps: str) -> Kind:
    return Kind(
        format,
        lambda root, name: files(root / "drop" / name, format),
        _csv if format == "csv" else _by_path,
        lost_at=BEFORE_SEAL,
        kept_at=(
            *("sealed", "lease-taken", "planned", "partition-published", "old-removed", "stage-cleared"),
            *("before-marked", "marked"),
        ),
        half_way="partition-published",
        gaps={
            "test_readers_see_the_old_state_or_the_new_one": NO_SNAPSHOTS,
            "test_the_way_back": NO_SNAPSHOTS,
            **gaps,
        },
        quick=quick,
    )


ICEBERG = Kind(
    "iceberg",
    lambda _, name: table(name),
    lambda target: f"lake.raw.{target.table}",
    lost_at=BEFORE_SEAL,
    kept_at=(
        "sealed",
        "lease-taken",
        "manifest-list-written",
        "before-swap",
        "swap-applied",
        "before-marked",
        "marked",
    ),
    half_way="before-swap",
    quick=("before-sealed", "swap-applied"),
)
DELTA = Kind(
    "delta",
    lambda root, name: delta_table(name, root),
    _by_path,
    lost_at=("before-data-written", "data-written", "before-own-commit"),
    kept_at=("own-commit-applied", "before-marked", "marked"),
    half_way="before-own-commit",
)
PARQUET = _files("parquet", quick=("partition-published",), test_columns_are_added=NO_SCHEMA)
ORC = _files("orc", test_columns_are_added=NO_SCHEMA)
AVRO = _files("avro", test_columns_are_added=NO_SCHEMA)
JSON = _files("json")
CSV = _files("csv", test_columns_are_added=NO_SCHEMA)

QUICK = (ICEBERG, PARQUET)
"""The formats of the plain suite."""
EVERY_POINT = (*QUICK, DELTA)
"""Formats with a commit path of their own."""
ALIKE = (ORC, AVRO, JSON, CSV)
"""Formats that go the way of Parquet: one kill of each is enough."""
