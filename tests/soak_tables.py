"""The tables that a soak may write: where they are, how they are compacted, and what must hold in them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from catchment.plan.model import Dataset, Rewrite
from catchment.project.model import Depot
from tests.concurrency.invariants import check
from tests.spark.lake import LiveEngine, delta_depot, delta_table, lake_depot, paimon_depot, paimon_table, table

NAME = "soak"


@dataclass(frozen=True)
class Soaked(ABC):
    """One table below a directory."""

    root: Path
    lines: ClassVar[tuple[str, ...]] = ("4.1", "3.5")
    """The lines of Spark that can write it; the first one reads and compacts it, too."""

    @property
    @abstractmethod
    def dataset(self) -> Dataset:
        """The table."""

    @property
    @abstractmethod
    def depot(self) -> Depot:
        """The depot that the table is in."""

    def compact(self, engine: LiveEngine) -> None:
        """Compact the table while others write it."""
        engine.maintain(self.dataset, Rewrite())

    @abstractmethod
    def check(self, engine: LiveEngine) -> None:
        """What must hold in every such table."""

    def commits(self, engine: LiveEngine) -> int:
        """How many snapshots it has."""
        return len(engine.inspect("snapshots", self.dataset)["snapshots"])


class IcebergTable(Soaked):
    """A table in a SQLite catalog; it is compacted by Iceberg, which knows nothing of Catchment."""

    @property
    def dataset(self) -> Dataset:
        return table(NAME)

    @property
    def depot(self) -> Depot:
        return lake_depot(self.root)

    def compact(self, engine: LiveEngine) -> None:
        engine.ask(f"CALL lake.system.rewrite_data_files(table => 'raw.{NAME}')")

    def check(self, engine: LiveEngine) -> None:
        check(engine, NAME)


class PaimonTable(Soaked):
    """A table in a directory, without a key."""

    lines = ("3.5",)

    @property
    def dataset(self) -> Dataset:
        return paimon_table(NAME)

    @property
    def depot(self) -> Depot:
        return paimon_depot(self.root)

    def check(self, engine: LiveEngine) -> None:
        paths = [file["path"] for file in engine.inspect("files", self.dataset)["files"]]
        assert len(paths) == len(set(paths)), "a file is in the table twice"
        assert all(Path(path).exists() for path in paths), "a file is missing"
        snapshots = engine.inspect("snapshots", self.dataset)["snapshots"]
        numbers = [int(each["snapshot_id"]) for each in snapshots]
        assert numbers == list(range(1, len(numbers) + 1)), "a snapshot is missing"
        known = Counter(write for each in snapshots for write in each["write_ids"])
        assert not [write for write, times in known.items() if times > 1], "a write is in the history twice"


class DeltaTable(Soaked):
    """A table in a directory."""

    @property
    def dataset(self) -> Dataset:
        return delta_table(NAME, self.root)

    @property
    def depot(self) -> Depot:
        return delta_depot(self.root)

    def check(self, engine: LiveEngine) -> None:
        paths = [file["path"] for file in engine.inspect("files", self.dataset)["files"]]
        assert len(paths) == len(set(paths)), "a file is in the table twice"
        assert all((Path(str(self.dataset.path)) / path).exists() for path in paths), "a file is missing"
        snapshots = engine.inspect("snapshots", self.dataset)["snapshots"]
        known = Counter(write["write_id"] for each in snapshots for write in each["writes"])
        assert not [write for write, times in known.items() if times > 1], "a write is in the history twice"


TABLES: dict[str, type[Soaked]] = {"iceberg": IcebergTable, "delta": DeltaTable, "paimon": PaimonTable}
