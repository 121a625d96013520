"""What a resident engine of a project is started with: everything that its commands may need."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from catchment.plan.engines import reading_engine
from catchment.plan.fitting import fits
from catchment.plan.model import EnginePlan
from catchment.project import depots
from catchment.project.model import Engine, Project


def resident_plan(project: Project, engine: Engine, more: Collection[str] = ()) -> EnginePlan:
    """An engine that knows all depots of the project that fit it; `more` names those that are not configured."""
    configured = {name for name, depot in project.depots.items() if fits(engine, [depot])}
    planned = reading_engine(project, engine, configured)
    known = {depot.name: depot for depot in planned.depots}
    for name in more:
        depot = depots.find(project, name)
        known.setdefault(depot.name, depot)
    return replace(planned, depots=tuple(known[name] for name in sorted(known)))


def may_stay(engine: EnginePlan) -> bool:
    """Whether other commands can use such an engine: it has the settings of the project file and no others."""
    plain = dict(engine.conf) == dict(engine.engine.conf) and not engine.envs
    return plain and engine.engine.isolation == "shared"
