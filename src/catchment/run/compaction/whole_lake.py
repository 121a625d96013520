"""Looks after all tables of the lake: in turn, those with the most to do first, within a budget."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from catchment.engine.launcher import BackgroundProcess
from catchment.errors import CatchmentError, EngineLost, LeaseHeld
from catchment.formats.registry import traits_of
from catchment.plan.datasets import of_maintained
from catchment.plan.fitting import choose_reader
from catchment.plan.model import Dataset
from catchment.project import depots
from catchment.project.address import is_address
from catchment.project.model import Address, Depot, Engine, Project
from catchment.run.compaction.budget import Budget
from catchment.run.compaction.compaction_job import compactor_lease, upkeep_of, writers_waiting
from catchment.run.compaction.compactor import LOOK_SECONDS, TableCompactor
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
    cores: int | None = None,
    bytes_per_hour: int | None = None,
    stop: threading.Event | None = None,
    tell: Tell = lambda _: None,
    launch: Launch = BackgroundProcess.start,
) -> Mapping[str, Any]:
    """Look after every table of the lake, once or until it is stopped; returns the report."""
    limited = with_cores(project, cores) if cores else project
    with open_store(project.metastore) as store, ExitStack() as opened:
        engines = Engines(limited, opened, tell, launch)
        upkeep = LakeUpkeep(limited, engines.lake, store, Budget(bytes_per_hour), stop or threading.Event(), tell)
        return upkeep.once() if once else upkeep.continuous()


def with_cores(project: Project, cores: int) -> Project:
    """The project with engines that use at most so many cores."""
    return replace(project, engines={name: _limited(engine, cores) for name, engine in project.engines.items()})


def _limited(engine: Engine, cores: int) -> Engine:
    if engine.is_local:
        return replace(engine, master=f"local[{cores}]")
    return replace(engine, conf={**engine.conf, "spark.cores.max": str(cores)})


@dataclass
class Engines:
    """The engines for all depots, each started when the first table needs it."""

    project: Project
    opened: ExitStack
    tell: Tell
    launch: Launch | None
    _sessions: dict[str, LakeSession] = field(default_factory=dict)

    def lake(self, depot: str) -> LakeSession:
        """The session of the engine that fits a depot."""
        engine = choose_reader(self.project, None, {depot}).engine
        # An engine knows the depots with tables from its start on; those of files are its own affair.
        key = engine.name if depots.holds_tables(depots.find(self.project, depot)) else f"{engine.name} {depot}"
        if key not in self._sessions:
            session = LakeSession(
                self.project, engine=engine.name, tables={depot}, files={depot}, tell=self.tell, launch=self.launch
            )
            self._sessions[key] = self.opened.enter_context(session)
        return self._sessions[key]


@dataclass
class LakeUpkeep:
    """The tables of the lake and what each of them needs."""

    project: Project
    lake: Callable[[str], LakeSession]
    """The session that serves a depot."""
    store: Store
    budget: Budget
    stop: threading.Event
    tell: Tell
    clock: Callable[[], float] = time.time
    _tables: dict[str, TableCompactor] = field(default_factory=dict)
    _health: dict[str, TableHealth] = field(default_factory=dict)
    _done: set[tuple[str, str]] = field(default_factory=set)
    """The partitions that were compacted."""
    _troubles: Troubles = field(default_factory=Troubles)

    def once(self) -> Mapping[str, Any]:
        """Compact whatever needs it now, then merge manifests and expire snapshots."""
        self.find_tables()
        while not self.stop.is_set() and not self.budget.is_spent(self.clock()) and self.turn(once=True):
            pass
        if self.budget.is_spent(self.clock()):
            self.tell("the budget of this hour is spent; the rest is left for later")
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
            if self.stop.is_set() or self.budget.is_spent(self.clock()):
                break
            worked |= self._compact(compactor, need, once=once)
        return worked

    def tidy(self) -> None:
        """Merge the manifests and expire the snapshots of tables for which that is due."""
        for address, found in list(self._health.items()):
            compactor = self._tables[address]
            if not self.stop.is_set() and compactor.is_untidy(found):
                self._guarded(compactor, lambda each, found=found: each.tidy(found))  # type: ignore[misc]

    def find_tables(self) -> None:
        """Meet the tables that exist now; those that were known before stay as they are."""
        for table in self._listed():
            if table.address not in self._tables:
                pending = writers_waiting(self.store, table)
                made = TableCompactor(self.lake(table.depot), table, upkeep_of(self.project, table), who())
                made.writers_wait, made.stop, made.tell, made.clock = pending, self.stop, self.tell, self.clock
                self._tables[table.address] = made

    def report(self) -> Mapping[str, Any]:
        """What was done to each table, and what could not be done."""
        tables = [self._report_of(address) for address in sorted(self._tables)]
        rewritten = sum(each.done.rewritten_bytes for each in self._tables.values())
        return {"tables": tables, "rewritten_bytes": rewritten, "errors": self._troubles.report()}

    def _report_of(self, address: str) -> Mapping[str, Any]:
        done = asdict(self._tables[address].done)
        failed = done["failed"] + self._troubles.is_unreadable(address)
        return {"address": address, **done, "failed": failed}

    def _listed(self) -> Iterator[Dataset]:
        for depot in depots.known(self.project):
            if depots.holds_tables(depot):
                yield from self._tables_of(depot)
        for name in self.project.maintain:
            if is_address(name):
                table = of_maintained(name, self.project)
                if not table.is_table:
                    yield table

    def _tables_of(self, depot: Depot) -> Iterator[Dataset]:
        whole = Address(depot.name, None, None, None)
        try:
            found: Sequence[Mapping[str, Any]] = self.lake(depot.name).inspect("tables", whole)["tables"]
        except EngineLost:
            raise
        except CatchmentError as error:  # of one depot; the others go on
            if self._troubles.unreadable(str(whole), error):
                self.tell(f"the tables of depot {depot.name} cannot be listed: {paragraph(error)}")
            return
        self._troubles.readable(str(whole))
        for each in found:
            table = of_maintained(str(each["address"]), self.project)
            if traits_of(table.format).supports("rewrite_dataset", table.format):
                yield table

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
        before, failed = compactor.done.rewritten_bytes, compactor.done.failed
        reached = self._guarded(compactor, lambda each: each.compact(need, comes_again=not once))
        self._done.add((compactor.table.address, need.name))
        compactor.forget()
        self.budget.spend(compactor.done.rewritten_bytes - before, self.clock())
        return reached and (once or compactor.done.failed == failed)

    def _guarded(self, compactor: TableCompactor, work: Callable[[TableCompactor], object]) -> bool:
        """Do something to a table; False if another compactor is at it. Trouble with one table is told."""
        try:
            with compactor_lease(self.store, compactor.table, self.stop, self.tell, wait=False) as lease:
                compactor.check = lease.check
                work(compactor)
        except (EngineLost, KeyboardInterrupt):
            raise
        except LeaseHeld as error:
            self.tell(error.message)
            return False
        except CatchmentError as error:
            compactor.done.failed += 1
            self._troubles.failed(compactor.table.address, error)
            self.tell(f"{compactor.table.address}: {paragraph(error)}")
        return True
