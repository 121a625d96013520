"""Looks after all tables of the lake: in turn, those with the most to do first, within a budget."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from catchment.engine.launcher import BackgroundProcess
from catchment.errors import CatchmentError, EngineLost, LeaseHeld
from catchment.formats.registry import traits_of
from catchment.plan.datasets import of_maintained, upkeep_of
from catchment.plan.fitting import choose_reader
from catchment.plan.model import Dataset
from catchment.project import depots
from catchment.project.address import is_address
from catchment.project.model import Address, Depot, Project
from catchment.run.compaction.budget import Budget
from catchment.run.compaction.compaction_job import compactor_lease, writers_waiting
from catchment.run.compaction.compactor import LOOK_SECONDS, TableCompactor
from catchment.run.compaction.lake_engines import EnduringLake, NoEngineLives
from catchment.run.compaction.needs import Need
from catchment.run.compaction.troubles import Troubles, paragraph
from catchment.run.engine_pool import Launch
from catchment.run.lake import LakeSession, Tell
from catchment.store import Store, open_store
from catchment.table_health import TableHealth
from catchment.who import who


def maintain(
    project: Project,
    *,
    once: bool = False,
    bytes_per_hour: int | None = None,
    stop: threading.Event | None = None,
    tell: Tell = lambda _: None,
    launch: Launch = BackgroundProcess.start,
) -> Mapping[str, Any]:
    """Look after every table of the lake, once or until it is stopped; returns the report."""
    stop = stop or threading.Event()
    with open_store(project.metastore) as store, ExitStack() as opened:
        engines = Engines(project, opened, tell, launch, stop)
        upkeep = LakeUpkeep(project, engines.lake, store, Budget(bytes_per_hour), stop, tell)
        return upkeep.once() if once else upkeep.continuous()


@dataclass
class Engines:
    """The engines for all depots, each started when the first table needs it, and replaced when it is lost."""

    project: Project
    opened: ExitStack
    tell: Tell
    launch: Launch | None
    stop: threading.Event
    _lakes: dict[str, EnduringLake] = field(default_factory=dict)

    def lake(self, depot: str) -> EnduringLake:
        """The sessions of the engine that fits a depot."""
        engine = choose_reader(self.project, None, {depot}).engine.name
        # An engine knows the depots with tables from its start on; those of files are its own affair.
        key = engine if depots.holds_tables(depots.find(self.project, depot)) else f"{engine} {depot}"
        if key not in self._lakes:
            start = partial(self._session, engine, depot)
            self._lakes[key] = EnduringLake(start, self.tell, self.stop, self.project)
            self.opened.enter_context(self._lakes[key])
        return self._lakes[key]

    def _session(self, engine: str, depot: str) -> LakeSession:
        used = {depot}
        return LakeSession(self.project, engine=engine, tables=used, files=used, tell=self.tell, launch=self.launch)


@dataclass
class LakeUpkeep:
    """The tables of the lake and what each of them needs."""

    project: Project
    lake: Callable[[str], EnduringLake]
    """The engines that serve a depot."""
    store: Store
    budget: Budget
    stop: threading.Event
    tell: Tell
    clock: Callable[[], float] = time.time
    _tables: dict[str, TableCompactor] = field(default_factory=dict)
    _health: dict[str, TableHealth] = field(default_factory=dict)
    _done: set[tuple[str, str]] = field(default_factory=set)
    """The partitions that were compacted, if each is compacted once."""
    _troubles: Troubles = field(default_factory=Troubles)
    _unusable: set[str] = field(default_factory=set)
    """Tables that exist and that cannot be looked after: no address can name them, for example."""
    _held: set[str] = field(default_factory=set)
    """Tables that somebody else compacts, which has been told."""
    _waits: bool = False
    """Whether something waits for the budget."""
    _rewritten_bytes: int = 0
    """Of all tables, also of those that are gone."""

    def once(self) -> Mapping[str, Any]:
        """Compact whatever needs it now, then merge manifests and expire snapshots."""
        self.find_tables()
        while not self.stop.is_set() and not self.budget.is_spent(self.clock()) and self.turn(once=True):
            pass
        if self.budget.is_spent(self.clock()):
            self.tell("the budget of this hour is spent; the rest is left for later")
        if self._troubles.report():  # some of it may be with tables that were dropped meanwhile
            self.find_tables()
        self.tidy()
        return self.report()

    def continuous(self, every: float = LOOK_SECONDS) -> Mapping[str, Any]:
        """Look after the lake until somebody stops it; new tables are found by themselves."""
        while not self.stop.is_set():
            self.find_tables()
            worked = self.turn(once=False)
            self.tidy()
            if not worked:
                self.stop.wait(every)
        return self.report()

    def turn(self, *, once: bool) -> bool:
        """Compact one partition of each table that needs it, those with the most to do first; False if none does."""
        worked = False
        for compactor, need in self._ranked(once=once):
            if self.stop.is_set() or self._waits_for_budget(once=once):
                break
            worked |= self._compact(compactor, need, once=once)
        return worked

    def _waits_for_budget(self, *, once: bool) -> bool:
        """Whether what is due has to wait for the budget; that is told when it begins."""
        waited, self._waits = self._waits, self.budget.is_spent(self.clock())
        if self._waits and not (waited or once):
            self.tell("the budget of this hour is spent; what is due waits for it")
        return self._waits

    def tidy(self) -> None:
        """Merge the manifests and expire the snapshots of tables for which that is due."""
        for address, found in list(self._health.items()):
            compactor = self._tables[address]
            for task in compactor.tasks(found):
                if not self.stop.is_set():
                    self._guarded(compactor, lambda each, task=task: each.tidy(task))  # type: ignore[misc]

    def find_tables(self) -> None:
        """Meet the tables that exist now, and forget those that do not exist any more; the others stay as they are."""
        for depot in depots.known(self.project):
            if depots.holds_tables(depot) and (listed := self._listed(depot)) is not None:
                self._forget_missing(depot, listed)
                for address in listed:
                    self._meet(address, files=False)
        for name in self.project.maintain:
            if is_address(name):
                self._meet(name, files=True)

    def report(self) -> Mapping[str, Any]:
        """What was done to each table, and what could not be done."""
        tables = [self._report_of(address) for address in sorted(self._tables)]
        return {"tables": tables, "rewritten_bytes": self._rewritten_bytes, "errors": self._troubles.report()}

    def _report_of(self, address: str) -> Mapping[str, Any]:
        done = asdict(self._tables[address].done)
        failed = done["failed"] + self._troubles.is_unreadable(address)
        return {"address": address, **done, "failed": failed}

    def _listed(self, depot: Depot) -> Sequence[str] | None:
        """The addresses of the tables of a depot; None if they cannot be listed now."""
        whole = Address(depot.name, None, None, None)
        try:
            found: Sequence[Mapping[str, Any]] = self.lake(depot.name).inspect("tables", whole)["tables"]
        except EngineLost:
            raise
        except CatchmentError as error:  # of one depot; the others go on
            if self._troubles.unreadable(str(whole), error):
                self.tell(f"the tables of depot {depot.name} cannot be listed: {paragraph(error)}")
            return None
        self._troubles.readable(str(whole))
        return [str(each["address"]) for each in found]

    def _meet(self, address: str, *, files: bool) -> None:
        """Look after a table from now on, or after files that the project file names."""
        if address in self._tables:
            return
        try:
            table = of_maintained(address, self.project)
            if table.is_table is not files and (files or _can_be_compacted(table)):
                self._tables[table.address] = self._compactor(table)
        except CatchmentError as error:  # of one table; the others go on
            if not files:
                self._unusable.add(address)
            if self._troubles.unreadable(address, error):
                self.tell(f"{address} cannot be looked after: {paragraph(error)}")

    def _compactor(self, table: Dataset) -> TableCompactor:
        made = TableCompactor(self.lake(table.depot), table, upkeep_of(self.project, table), who())
        made.writers_wait, made.stop = writers_waiting(self.store, table), self.stop
        made.tell, made.clock = self.tell, self.clock
        return made

    def _forget_missing(self, depot: Depot, listed: Sequence[str]) -> None:
        """Forget the tables of a depot that are gone, and what was wrong with them."""
        begin = str(Address(depot.name, None, None, None)).removesuffix("none")
        tables = {address for address, compactor in self._tables.items() if compactor.table.is_table}
        for address in (tables | self._unusable).difference(listed):
            if address.startswith(begin):
                self._tables.pop(address, None)
                self._health.pop(address, None)
                self._unusable.discard(address)
                self._held.discard(address)
                self._troubles.forget(address)

    def _ranked(self, *, once: bool) -> list[tuple[TableCompactor, Need]]:
        found = ((each, self._look(each, once=once)) for each in self._tables.values())
        needy = [(compactor, needs) for compactor, needs in found if needs]
        needy.sort(key=lambda each: -sum(need.health.burden for need in each[1]))
        return [(compactor, needs[0]) for compactor, needs in needy]

    def _look(self, compactor: TableCompactor, *, once: bool) -> list[Need]:
        try:
            health, needs = compactor.look()
        except EngineLost:
            raise
        except CatchmentError as error:  # of one table; the others go on
            if self._troubles.unreadable(compactor.table.address, error):
                self.tell(f"{compactor.table.address} cannot be looked at: {paragraph(error)}")
            return []
        self._troubles.readable(compactor.table.address)
        self._health[compactor.table.address] = health
        return [need for need in needs if self._is_due(compactor.table.address, need, once=once)]

    def _is_due(self, address: str, need: Need, *, once: bool) -> bool:
        """Whether a partition is compacted now; one that is being written comes later, unless there is no later."""
        return (address, need.name) not in self._done if once else not need.busy

    def _compact(self, compactor: TableCompactor, need: Need, *, once: bool) -> bool:
        """Compact one partition; False if there is nothing to gain from going on at once."""
        done, lake, failed = compactor.done, self.lake(compactor.table.depot), compactor.done.failed
        before = done.rewritten_bytes, compactor.wasted_bytes, lake.losses
        reached = self._guarded(compactor, lambda each: each.compact(need, comes_again=not once))
        if once:
            self._done.add((compactor.table.address, need.name))
        compactor.forget()
        after = done.rewritten_bytes, compactor.wasted_bytes, lake.losses
        rewritten, wasted, lost = (now - then for now, then in zip(after, before, strict=True))
        self._rewritten_bytes += rewritten
        self.budget.spend(rewritten + max(wasted, lost * need.cost), self.clock())
        return reached and (once or done.failed == failed)

    def _guarded(self, compactor: TableCompactor, work: Callable[[TableCompactor], object]) -> bool:
        """Do something to a table; False if another compactor is at it. Trouble with one table is told."""
        try:
            with compactor_lease(self.store, compactor.table, self.stop, self.tell, wait=False) as lease:
                self._held.discard(compactor.table.address)
                compactor.check = lease.check
                work(compactor)
        except LeaseHeld as error:
            if compactor.table.address not in self._held:
                self._held.add(compactor.table.address)
                self.tell(error.message)
            return False
        except NoEngineLives:
            raise
        except CatchmentError as error:
            compactor.done.failed += 1
            self._troubles.failed(compactor.table.address, error)
            self.tell(f"{compactor.table.address}: {paragraph(error)}")
        return True


def _can_be_compacted(table: Dataset) -> bool:
    return traits_of(table.format).supports("rewrite_dataset", table.format)
