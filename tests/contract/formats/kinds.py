"""The formats that keep the contract, what each has of its own, and what each one cannot do and why."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from catchment.formats.registry import traits_of
from catchment.plan.model import Dataset
from tests.concurrency.invariants import check as check_table
from tests.spark.lake import LiveEngine, delta_table, files, paimon_table, table

BEFORE_SEAL = ("before-data-written", "data-written", "before-sealed")
NO_SNAPSHOTS = "plain files have no snapshots: a reader sees what lies in the directories at that moment"
NO_HISTORY = "earlier states cannot be read"
NO_TABLE = "directories of files have no name that could be dropped"
NO_SCHEMA = "the schema of a dataset cannot grow: Spark takes that of one of its files"
NO_COMPACTION = "its files do not say which columns they have, so they cannot be merged without knowing more"
SWAPPED = "plain files are swapped under the lease of the dataset"
OF_COMPACTION = (
    "test_compaction_makes_few_files_of_many_and_keeps_every_row",
    "test_partitions_that_cannot_be",
    "test_what_may_not_be_written_stays_as_it_is",
    "test_writers_go_on_while_others_compact",
)
OF_DROPS = (
    "test_a_dropped_table_is_gone_and_its_name_is_free",
    "test_a_table_that_has_taken_the_name_of_another_stays",
)

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
    spark: str = "4.1"
    """The line of Spark that it is tested on."""
    quick: tuple[str, ...] = ()
    """The points of the plain suite; the rest of the matrix takes minutes."""

    @property
    def gaps(self) -> Mapping[str, str]:
        """Tests of the contract that fail, with the reason; one that passes is no gap and fails the suite."""
        traits = traits_of(self.name)
        needs = (
            ("test_readers_see_the_old_state_or_the_new_one", traits.is_table, NO_SNAPSHOTS),
            ("test_the_way_back", traits.history, NO_HISTORY),
            *((test, traits.drops, NO_TABLE) for test in OF_DROPS),
            ("test_columns_are_added", self.name in traits.evolving, NO_SCHEMA),
            *((test, traits.supports("rewrite_dataset", self.name), NO_COMPACTION) for test in OF_COMPACTION),
            (
                "test_a_compaction_needs_nothing_that_writers_wait_for",
                traits.is_table and traits.supports("rewrite_dataset", self.name),
                SWAPPED,
            ),
        )
        return {test: why for test, has, why in needs if not has}

    def rows(self, engine: LiveEngine, target: Dataset, what: str = "id, mark, part") -> list[Row]:
        """The rows of a dataset, in order; none where it has no files."""
        if target.path and not any(Path(target.path).rglob("[!._]*.*")):
            return []
        return engine.rows(f"SELECT {what} FROM {self.relation(target)} ORDER BY ALL")

    def check(self, engine: LiveEngine, target: Dataset) -> None:
        """What must hold of every dataset that nobody writes."""
        if target.format == "paimon":
            paths = [file["path"] for file in engine.inspect("files", target)["files"]]
            assert len(paths) == len(set(paths))
            assert all(Path(path).exists() for path in paths)
        elif target.format == "iceberg":
            check_table(engine, str(target.table))
        elif target.path:
            assert list(Path(target.path).parent.glob(f".catchment-stage/.{Path(target.path).name}/*")) == []


class Toys(Kind):
    """The format of `toy/`: its rows are read as they lie in the file."""

    def rows(self, engine: LiveEngine, target: Dataset, what: str = "id, mark, part") -> list[Row]:
        """The rows of a dataset, in order."""
        path = Path(str(target.path))
        found = json.loads(path.read_text())["rows"] if path.exists() else []
        return sorted((tuple(row) for row in found), key=lambda row: (row[0], row[1], row[2] is not None, row[2] or 0))


def _by_path(target: Dataset) -> str:
    return f"{target.format}.`{target.path}`"


def _csv(target: Dataset) -> str:
    """In plain SQL every line is a row, the header too, and the columns have numbers."""
    return f"(SELECT CAST(_c0 AS BIGINT) AS id, _c1 AS mark, part FROM csv.`{target.path}` WHERE _c0 <> 'id')"


def _files(format: str, *, quick: tuple[str, ...] = ()) -> Kind:
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
PAIMON = Kind(
    "paimon",
    lambda _, name: paimon_table(name),
    lambda target: target.identifier,
    lost_at=BEFORE_SEAL,
    kept_at=("sealed", "lease-taken", "before-swap", "swap-applied", "before-marked", "marked"),
    half_way="before-swap",
    spark="3.5",
)
PARQUET = _files("parquet", quick=("partition-published",))
ORC = _files("orc")
AVRO = _files("avro")
JSON = _files("json")
CSV = _files("csv")

TOY = Toys(
    "toy",
    lambda root, name: Dataset(
        f"dataos://toys:raw/{name}", "toys", "toy", "raw", name, str(root / "toys" / "raw" / f"{name}.json")
    ),
    lambda target: str(target.path),
    lost_at=BEFORE_SEAL,
    kept_at=("sealed", "lease-taken", "before-marked", "marked"),
    half_way="lease-taken",
    quick=("before-sealed", "before-marked"),
)

QUICK = (ICEBERG, PARQUET, TOY)
"""The formats of the plain suite."""
EVERY_POINT = (*QUICK, DELTA, PAIMON)
"""Formats with a commit path of their own."""
ALIKE = (ORC, AVRO, JSON, CSV)
"""Formats that go the way of Parquet: a kill of each, and what depends on their files, is enough."""
OF_EACH_FILE = frozenset(
    {
        "test_an_append_adds",
        "test_a_dynamic_overwrite_touches_only_what_it_produced",
        "test_nothing_to_write",
        "test_compaction_makes_few_files_of_many_and_keeps_every_row",
    }
)
"""The tests of these."""
