"""The tables that a soak may write: where they are, how they are compacted, and what must hold in them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from pathlib import Path

from catchment.plan.model import Dataset, Rewrite
from catchment.project.model import Depot
from tests.concurrency.invariants import check
from tests.spark.lake import LiveEngine, lake_depot, paimon_depot, paimon_table, table

NAME = "soak"


class Soaked(ABC):
    """One table."""

    spark = "4.1"
    dataset: Dataset

    @abstractmethod
    def depot(self, root: Path) -> Depot:
        """The depot that the table is in."""

    @abstractmethod
    def compact(self, engine: LiveEngine) -> None:
        """Compact the table while others write it."""

    @abstractmethod
    def check(self, engine: LiveEngine) -> None:
        """What must hold in every such table."""

    def commits(self, engine: LiveEngine) -> int:
        """How many snapshots it has."""
        return len(engine.inspect("snapshots", self.dataset)["snapshots"])


class IcebergTable(Soaked):
    """A table in a SQLite catalog; it is compacted by Iceberg, which knows nothing of Catchment."""

    dataset = table(NAME)

    def depot(self, root: Path) -> Depot:
        return lake_depot(root)

    def compact(self, engine: LiveEngine) -> None:
        engine.ask(f"CALL lake.system.rewrite_data_files(table => 'raw.{NAME}')")

    def check(self, engine: LiveEngine) -> None:
        check(engine, NAME)


class PaimonTable(Soaked):
    """A table in a directory, without a key."""

    spark = "3.5"
    dataset = paimon_table(NAME)

    def depot(self, root: Path) -> Depot:
        return paimon_depot(root)

    def compact(self, engine: LiveEngine) -> None:
        engine.maintain(self.dataset, Rewrite())

    def check(self, engine: LiveEngine) -> None:
        paths = [file["path"] for file in engine.inspect("files", self.dataset)["files"]]
        assert len(paths) == len(set(paths)), "a file is in the table twice"
        assert all(Path(path).exists() for path in paths), "a file is missing"
        snapshots = engine.inspect("snapshots", self.dataset)["snapshots"]
        numbers = [int(each["snapshot_id"]) for each in snapshots]
        assert numbers == list(range(1, len(numbers) + 1)), "a snapshot is missing"
        known = Counter(write for each in snapshots for write in each["write_ids"])
        assert not [write for write, times in known.items() if times > 1], "a write is in the history twice"


TABLES: dict[str, Soaked] = {"iceberg": IcebergTable(), "paimon": PaimonTable()}
