"""Finishing what writes have left unfinished: what there is to do, and an engine that does it."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from catchment.commit.recovery import Unfinished, unfinished
from catchment.errors import RequestError
from catchment.formats.registry import held_by
from catchment.plan.datasets import nested, of_input, place_of_files
from catchment.plan.fitting import grouped
from catchment.plan.model import Dataset
from catchment.project import depots
from catchment.project.address import parse
from catchment.project.model import Address, Project
from catchment.run.engine_pool import Launch
from catchment.run.inspection import check_depot
from catchment.run.lake import LakeSession, Tell
from catchment.store import Store, open_store, read_store
from catchment.store.decisions import Fate
from catchment.store.engines import SETTLING_SECONDS
from catchment.store.writes import Published

WATCH_SECONDS = 1.0
"""How often to look whether engines that are not heard from have announced themselves again."""


def look(project: Project, address: str | None = None, tell: Tell = lambda _: None) -> tuple[Unfinished, ...]:
    """What writes have left unfinished, in all tables or in the one at an address; no engine is started."""
    asked = None if address is None else _canonical(address, project)
    with read_store(project.metastore) as store:
        _wait_for_missed(store, tell)
        found = unfinished(store, None if asked is None else _targets(asked, project))
    if asked and not found:
        # Without a project file every name would do, the misspelled ones too.
        check_depot(project, asked.depot, files=True)
    return found


@dataclass(frozen=True)
class Decided:
    """What a person has decided about single writes."""

    retry: Sequence[str] = ()
    drop: Sequence[str] = ()
    accept: Sequence[tuple[Fate, str]] = ()

    @property
    def any(self) -> bool:
        """Whether there is anything to carry out."""
        return bool(self.retry or self.drop or self.accept)


def decide(project: Project, decided: Decided) -> None:
    """Carry out what a person has decided; no engine is started."""
    if not decided.any:
        return
    with open_store(project.metastore) as store:
        for write_id in decided.retry:
            store.decisions.retry(write_id)
        for write_id in decided.drop:
            store.decisions.drop(write_id)
        for fate, write_id in decided.accept:
            store.decisions.accept(write_id, fate)


def rebuild(
    project: Project,
    address: str | None = None,
    *,
    tell: Tell = lambda _: None,
    launch: Launch | None = None,
) -> Mapping[str, tuple[str, ...]]:
    """Make the ledger anew from the histories of tables: of all of them, or of the one at an address.

    Says which writes of which table it had lost. Plain files have no history: of them it learns nothing.
    """
    named = _canonical(address, project) if address else None
    learned: dict[str, tuple[str, ...]] = {}
    for group in grouped(project, [named.depot] if named else _with_history(project)):
        with (
            LakeSession(project, tables=group, tell=tell, launch=launch) as reader,
            open_store(project.metastore) as store,
        ):
            for each in [named] if named else list(_tables(group, reader)):
                learned[str(each)] = _learn(store, of_input(str(each), None, project), reader, each)
    return {table: lost for table, lost in learned.items() if lost}


def _with_history(project: Project) -> list[str]:
    """The names of the depots whose tables can be asked for their history."""
    every = depots.known(project)
    return [depot.name for depot in every if any(traits.questions for traits in held_by(depot.kind))]


def _tables(names: Collection[str], reader: LakeSession) -> Iterator[Address]:
    for name in sorted(names):
        found = reader.inspect("tables", Address(name, None, None, None))
        yield from (parse(table["address"]) for table in found["tables"])


def _learn(store: Store, dataset: Dataset, reader: LakeSession, address: Address) -> tuple[str, ...]:
    history = reader.inspect("snapshots", address)["snapshots"]
    published = [
        Published(write["write_id"], each["workflow"] or "", int(each["snapshot_id"]), write["rows"] or 0, number=0)
        for each in history
        for write in each["writes"]
    ]
    return store.ledger.learn(dataset.target, asdict(dataset), published)


def _wait_for_missed(store: Store, tell: Tell) -> None:
    """Give engines that the metastore has not heard from the time to announce themselves, if it may have been away."""
    told = False
    while (missed := store.engines.missed()) and not store.engines.watch():
        if not told:
            tell(f"{missed} engines have not been heard from; waiting up to {SETTLING_SECONDS:.0f} s for them")
            told = True
        time.sleep(WATCH_SECONDS)


def recover(
    project: Project,
    found: Sequence[Unfinished],
    *,
    remove: bool,
    tell: Tell = lambda _: None,
    launch: Launch | None = None,
) -> Mapping[str, Any]:
    """Recover tables; files of abandoned writes are removed only where `remove` says so."""
    if not found:
        return {"tables": []}
    every = [_dataset(each) for each in found]
    facts: dict[str, Any] = {"tables": []}
    for group in grouped(project, list(dict.fromkeys(table.depot for table in every))):
        tables = [table for table in every if table.depot in group]
        files = _depots(tables, project)
        with LakeSession(project, tables=group, files=files, tell=tell, launch=launch) as reader:
            told = reader.recover(tables, remove=remove)
        facts |= {**told, "tables": [*facts["tables"], *told["tables"]]}
    return facts


def _canonical(text: str, project: Project) -> Address:
    """The address with the depot by its own name, and nothing about access."""
    address = parse(text)
    if address.dataset is None:
        raise RequestError(
            f"`{text}` names no table", code="no-dataset", hint="append /table, or leave the address out for all tables"
        )
    return Address(depots.find(project, address.depot).name, address.collection, address.dataset, None)


def _targets(address: Address, project: Project) -> tuple[str, ...]:
    """What the ledger may call it: a table by its address, files by their place."""
    return str(address), place_of_files(address, depots.find(project, address.depot))


def _depots(tables: Sequence[Dataset], project: Project) -> set[str]:
    """The depots through which the files among these are reached."""
    places = [table.path for table in tables if table.path and not table.is_table]
    return {depot.name for depot in project.depots.values() for place in places if nested(place, depot.files)}


def _dataset(found: Unfinished) -> Dataset:
    """The dataset as the ledger has it; several addresses may name one place of files, so its target stands for it."""
    return replace(Dataset(**found.dataset), address=found.target)
