"""Finishing what writes have left unfinished: what there is to do, and an engine that does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from catchment.commit.unfinished import Unfinished, unfinished
from catchment.engine.launcher import EngineProcess
from catchment.errors import RequestError
from catchment.plan.datasets import of_input
from catchment.plan.engines import reading_engine
from catchment.plan.model import Dataset
from catchment.project import depots
from catchment.project.address import parse
from catchment.project.model import Address, Project
from catchment.run.engines import Launch
from catchment.run.lake import Reader, Tell, check_depot
from catchment.store import open_store


def look(project: Project, address: str | None = None) -> tuple[Unfinished, ...]:
    """What writes have left unfinished, in all tables or in the one at an address; no engine is started."""
    target = None if address is None else str(_canonical(address, project))
    with open_store(project.metastore) as store:
        found = unfinished(store, target)
    if target and not found:
        # Without a project file every name would do, the misspelled ones too.
        depot = parse(target).depot
        check_depot(depot, reading_engine(project, files={depot}))
    return found


def recover(
    project: Project,
    found: Sequence[Unfinished],
    *,
    remove: bool,
    tell: Tell = lambda _: None,
    launch: Launch = EngineProcess.start,
) -> Mapping[str, Any]:
    """Recover tables; files of abandoned writes are removed only where `remove` says so."""
    if not found:
        return {"tables": []}
    tables = [_dataset(each, project) for each in found]
    files = {table.depot for table in tables if not table.is_table}
    with Reader(project, files=files, tell=tell, launch=launch) as reader:
        return reader.recover(tables, remove=remove)


def _canonical(text: str, project: Project) -> Address:
    """The address as the ledger writes it: the depot by its own name, nothing about access."""
    address = parse(text)
    if address.dataset is None:
        raise RequestError(
            f"`{text}` names no table", code="no-dataset", hint="append /table, or leave the address out for all tables"
        )
    return Address(depots.find(project, address.depot).name, address.collection, address.dataset, None)


def _dataset(found: Unfinished, project: Project) -> Dataset:
    address = parse(found.target)
    if found.path is not None:
        return Dataset(str(address), address.depot, "files", path=found.path)
    depot = project.depots.get(address.depot)
    if depot is not None and depot.kind == "delta":
        return of_input(found.target, None, project)
    return Dataset(str(address), address.depot, "iceberg", namespace=address.collection, table=address.dataset)
