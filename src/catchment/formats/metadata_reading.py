"""How formats answer questions about tables without an engine. No Spark here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from catchment.formats.facts import Facts
from catchment.plan.model import Dataset
from catchment.table_health import TableHealth


class NeedsEngine(Exception):
    """Only an engine can answer; the message says why. If something is wrong, the engine's error explains it."""


@dataclass(frozen=True)
class Access:
    """What an engine would be given to reach catalogs and stores."""

    settings: Mapping[str, str] = field(default_factory=dict)
    """Spark's settings: those of the depots, overridden by the engine's."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """The environment variables that engines get."""

    def below(self, prefix: str) -> dict[str, str]:
        """The settings whose names begin with a prefix, without it."""
        return {key.removeprefix(prefix): value for key, value in self.settings.items() if key.startswith(prefix)}


class MetadataReader(Protocol):
    """Reads the tables of one depot; every method raises `NeedsEngine` if it cannot."""

    def tables(self) -> Sequence[Facts]:
        """Every table of the depot, with its address."""
        ...

    def inspect(self, what: str, dataset: Dataset) -> Facts:
        """Answer one question about a table."""
        ...

    def head(self, dataset: Dataset) -> str | None:
        """The newest commit of a table, by the name that its health has it by; None if it has none."""
        ...

    def health(
        self, dataset: Dataset, small_file_bytes: int | None, compacted: Callable[[], float | None]
    ) -> TableHealth:
        """How well the files of a table serve its readers; `compacted` gives its last compaction in the ledger."""
        ...
