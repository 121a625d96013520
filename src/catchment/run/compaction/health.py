"""How well the files of a table serve its readers, and what it needs: from its metadata, or else from an engine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from catchment.errors import RequestError
from catchment.formats.metadata_reading import NeedsEngine
from catchment.formats.registry import supporting, traits_of
from catchment.plan.datasets import of_maintained, upkeep_of
from catchment.plan.model import Dataset
from catchment.project.model import Project
from catchment.run import inspection
from catchment.run.compaction.needs import Need, needs_of
from catchment.run.compaction.tidying import Tidying, tidying_of
from catchment.run.inspection import check_depot
from catchment.table_health import TableHealth

if TYPE_CHECKING:
    from catchment.run.engine_pool import Launch

Tell = Callable[[str], None]


def health(
    project: Project,
    address: str,
    *,
    tell: Tell = lambda _: None,
    explain: Tell = lambda _: None,
    launch: Launch | None = None,
) -> tuple[TableHealth, tuple[Need, ...], Tidying]:
    """How well the files of a table serve its readers, and what its partitions and the whole of it need.

    `explain` hears why an engine has to answer.
    """
    table = dataset_of(project, address, reading=True)
    upkeep = upkeep_of(project, table)
    try:
        found = inspection.health(project, table, upkeep.thresholds.small_file_bytes)
    except NeedsEngine as reason:
        explain(f"an engine answers: {reason}")
        from catchment.run.compaction.compaction_job import look

        found, needs = look(project, table, tell, launch)
    else:
        needs = needs_of(found, upkeep.thresholds, time.time())
    return found, needs, tidying_of(table, found, upkeep)


def dataset_of(project: Project, address: str, *, reading: bool = False) -> Dataset:
    """The dataset to compact; raises if its format cannot be compacted."""
    table = of_maintained(address, project, reading=reading)
    if not traits_of(table.format).supports("rewrite_dataset", table.format):
        raise RequestError(
            f"not supported yet: to compact `{table.address}`, whose format is {table.format}",
            code="unsupported-actions",
            hint=f"this works on {supporting('operations', 'rewrite_dataset')}",
        )
    check_depot(project, table.depot, files=not table.is_table)
    return table
