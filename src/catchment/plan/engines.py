"""Decides which engine processes a plan needs, and which jobs share one."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from catchment.plan.fitting import DEFAULT, fits
from catchment.plan.model import EnginePlan
from catchment.project import depots
from catchment.project.model import Depot, Engine, Project, Settings

_ANY_ENGINE = (None, "runnable-default")
"""Values of `compute` that name no engine."""


@dataclass(frozen=True)
class Need:
    """What one job needs from its engine."""

    job: str
    engine: Engine
    conf: Mapping[str, str] = field(default_factory=dict)
    """The job's application-wide settings."""
    envs: Mapping[str, str] = field(default_factory=dict)
    depots: tuple[Depot, ...] = ()
    guest: bool = False
    """Whether any process of its engine will do: the job runs no user SQL, so its settings do not matter."""

    @property
    def application(self) -> dict[str, str]:
        """The settings of the application: the engine's, overridden by the job's."""
        return {**self.engine.conf, **self.conf}

    @property
    def process(self) -> Hashable:
        """Equal for jobs that can share a process."""
        if self.engine.isolation == "process":
            return self.engine.name, self.job
        return self.engine.name, frozenset(self.application.items()), frozenset(self.envs.items())


def names_none(compute: str | None) -> bool:
    """Whether a job's `compute` leaves the choice of the engine to Catchment."""
    return compute in _ANY_ENGINE


def assign(
    needs: Sequence[Need],
    names: Collection[str],
    metastore: str = "",
    settings: Settings | None = None,
    directory: str | None = None,
) -> tuple[dict[str, str], tuple[EnginePlan, ...]]:
    """The engine key of each job and the engines to start; `names` are the names of all engines."""
    groups: dict[Hashable, list[Need]] = {}
    for need in sorted(needs, key=lambda need: need.guest):
        groups.setdefault(_host(need, groups) or need.process, []).append(need)
    plans: dict[str, EnginePlan] = {}
    for members in groups.values():
        first = members[0]
        # A process must not have the name of another engine.
        key = next(key for key in _keys(first) if key not in plans and (key == first.engine.name or key not in names))
        planned = _plan(key, members)
        plans[key] = replace(planned, metastore=metastore, settings=settings or Settings(), directory=directory)
    keys = {need.job: key for key, members in zip(plans, groups.values(), strict=True) for need in members}
    return keys, tuple(plans.values())


def _host(need: Need, groups: Mapping[Hashable, Sequence[Need]]) -> Hashable | None:
    """The process that a guest joins; None if there is none."""
    if not need.guest or need.engine.isolation == "process":
        return None
    return next((key for key, hosts in groups.items() if hosts[0].engine == need.engine), None)


def reading_engine(project: Project, engine: Engine | None = None, files: Collection[str] = ()) -> EnginePlan:
    """An engine that knows all depots with tables that fit it, including embedded ones that exist on disk.

    `files` names further depots whose files it must reach. Without `engine`, the default one is used.
    """
    engine = engine or project.engines[DEFAULT]
    asked = (depot for depot in depots.known(project) if depots.holds_tables(depot) or depot.name in files)
    return EnginePlan(
        engine.name,
        engine,
        dict(engine.conf),
        depots=_by_name([depot for depot in asked if fits(engine, [depot])]),
        metastore=project.metastore,
        settings=project.settings,
        directory=str(project.root),
    )


def _keys(need: Need) -> Iterator[str]:
    """Possible keys of an engine process in order of preference: `name` or `name-job`, then with numbers."""
    base = f"{need.engine.name}-{need.job}" if need.engine.isolation == "process" else need.engine.name
    yield base
    yield from (f"{base}-{number}" for number in count(2))


def _plan(key: str, members: Sequence[Need]) -> EnginePlan:
    first = members[0]
    used = tuple(depot for need in members for depot in need.depots)
    return EnginePlan(key, first.engine, first.application, dict(first.envs), _by_name(used))


def _by_name(used: Sequence[Depot]) -> tuple[Depot, ...]:
    found = {depot.name: depot for depot in used}
    return tuple(found[name] for name in sorted(found))
