"""What makes two engines the same, so that a command may use one that is there already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from catchment.engine.environment import passed_variables
from catchment.plan.model import EnginePlan
from catchment.project.model import Depot, Engine

if TYPE_CHECKING:  # the protocol takes its time to load
    from catchment.engine.protocol import Attach, Residence, Start

OUTDATED, OTHER_SURROUNDINGS = "resident-outdated", "resident-of-other-surroundings"
"""The codes of the answers to a client that needs another engine: of another definition, or for another place."""
OTHER_VERSION = "it is of another version of Catchment"
OF_A_TERMINAL = (
    *("XDG_SESSION_ID", "XDG_SESSION_TYPE", "XDG_SESSION_CLASS", "XDG_SESSION_DESKTOP", "XDG_SESSION_PATH"),
    *("XDG_CURRENT_DESKTOP", "XDG_RUNTIME_DIR", "XDG_SEAT", "XDG_SEAT_PATH", "XDG_VTNR", "SHELL", "LOGNAME"),
)
"""Variables that differ between two terminals and mean nothing to an engine."""
OF_A_COMMAND = ("CATCHMENT_ENV",)
"""Variables that are the same as an option; what they choose is in the definition of the engine."""


def variables(engine: EnginePlan) -> dict[str, str]:
    """The variables of this process that an engine would get and that it may depend on."""
    passed = passed_variables(engine.settings.pass_environment)
    return {name: value for name, value in passed.items() if name not in (*OF_A_TERMINAL, *OF_A_COMMAND)}


def differences(start: Start, residence: Residence, wanted: Attach) -> list[str]:
    """Why an engine that runs is not the one that a client needs; nothing if it is."""
    return outdated(start, residence, wanted) or other_surroundings(start, residence, wanted)


def outdated(start: Start, residence: Residence, wanted: Attach) -> list[str]:
    """In what an engine that runs differs from what the project file defines now."""
    has, needs = start.engine, wanted.engine
    if (wanted.version, wanted.code) != (start.version, residence.code):
        return [OTHER_VERSION]
    found = [what for what, one, other in _parts(has, needs) if one != other]
    if other := _other_depots(has, needs):
        found.append(f"other depots ({', '.join(other)})")
    return found


def other_surroundings(start: Start, residence: Residence, wanted: Attach) -> list[str]:
    """In what the surroundings of an engine that runs differ from those of a client."""
    found = []
    if changed := _changed(residence.environment, wanted.environment):
        found.append(f"other environment variables ({', '.join(changed)})")
    if not set(wanted.secrets) <= set(start.secrets):
        found.append("other secrets")
    return found


def _parts(has: EnginePlan, needs: EnginePlan) -> tuple[tuple[str, object, object], ...]:
    return (
        ("another definition of the engine", _plain_engine(has.engine), _plain_engine(needs.engine)),
        ("other Spark settings", dict(has.conf), dict(needs.conf)),
        ("other variables of jobs", dict(has.envs), dict(needs.envs)),
        ("another directory", has.directory, needs.directory),
        ("another metastore", has.metastore, needs.metastore),
        ("other settings of the project", has.settings, needs.settings),
    )


def _other_depots(has: EnginePlan, needs: EnginePlan) -> list[str]:
    known = {depot.name: _plain_depot(depot) for depot in has.depots}
    return [depot.name for depot in needs.depots if known.get(depot.name) != _plain_depot(depot)]


def _changed(ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    """The names alone: values may be secrets."""
    return sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name))


def _plain_engine(engine: Engine) -> Engine:
    """Without the line of the project file that it is on."""
    return replace(engine, conf=dict(engine.conf), where=None)


def _plain_depot(depot: Depot) -> Depot:
    catalog = depot.catalog and replace(depot.catalog, properties=dict(depot.catalog.properties))
    return replace(depot, conf=dict(depot.conf), catalog=catalog, where=None)
