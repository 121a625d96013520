"""Answers about tables are the same with and without an engine: each answer of an engine in a test is compared."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from catchment.engine.lake_access import access_of
from catchment.formats.metadata_reading import MetadataReader, NeedsEngine
from catchment.formats.registry import in_use, open_metadata_reader, traits_of
from catchment.plan.model import Dataset, EnginePlan, Partition
from catchment.project.model import Depot
from catchment.store import read_store
from catchment.table_health import TableHealth

Facts = Mapping[str, Any]


def read(plan: EnginePlan, what: str, depot: Depot, dataset: Dataset | None) -> Facts:
    """The answer without the engine of a plan; raises `NeedsEngine` if there is none."""
    if dataset is not None:
        return _reader(plan, depot, dataset.format).inspect(what, dataset)
    formats = [traits for traits in in_use({depot.kind}) if traits.questions]
    readers = [_reader(plan, depot, traits.formats[0]) for traits in formats]
    return {"tables": [table for reader in readers for table in reader.tables()]}


def read_health(
    plan: EnginePlan, dataset: Dataset, small_file_bytes: int | None, wanted: Sequence[Partition] = ()
) -> TableHealth:
    """The health of a table without the engine of a plan; raises `NeedsEngine` if there is no answer."""

    def compacted() -> float | None:
        with read_store(plan.metastore) as store:
            return store.activity.last_compaction(dataset.target)

    depot = next(each for each in plan.depots if each.name == dataset.depot)
    return _reader(plan, depot, dataset.format).health(dataset, small_file_bytes, compacted).shortened(wanted)


def read_head(plan: EnginePlan, dataset: Dataset) -> str | None:
    """The newest commit of a table without the engine of a plan."""
    depot = next(each for each in plan.depots if each.name == dataset.depot)
    return _reader(plan, depot, dataset.format).head(dataset)


def check(answer: Callable[[], Facts], without_engine: Callable[[], Facts]) -> Facts:
    """The answer of an engine, which is that without one, too, unless others change the table in between."""
    found = answer()
    with suppress(NeedsEngine):
        while text(other := without_engine()) != text(found):
            again = answer()
            assert text(again) != text(found), f"without an engine: {text(other)}\nwith one: {text(found)}"
            found = again
    return found


def text(facts: Facts) -> str:
    """Facts as they are printed."""
    return json.dumps(facts, indent=1)


def _reader(plan: EnginePlan, depot: Depot, format: str) -> MetadataReader:
    return open_metadata_reader(traits_of(format), depot, access_of(plan))
