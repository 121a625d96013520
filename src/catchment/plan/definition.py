"""The definition of a workflow as data, which is recorded with a run and compared with later definitions.

Positions, paths on this machine and everything left at its default are omitted: two definitions are equal if the runs
of both would do the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from catchment.plan.model import EnginePlan, JobPlan, Plan

Definition = Mapping[str, Any]
"""What each job does, by its name."""

_POSITIONS = frozenset({"where", "sql_where", "sql_lines", "lines"})
_NOTHING: tuple[object, ...] = (None, "", 0, False, {}, [])
"""Values of fields that were not set."""


def definition_of(plan: Plan) -> Definition:
    """The definition of every job of a plan."""
    engines = {each.key: each for each in plan.engines}
    return {job.name: _job(job, engines[job.engine]) for job in plan.jobs}


def _job(job: JobPlan, engine: EnginePlan) -> Definition:
    plain = asdict(job)
    for part in ("inputs", "steps", "outputs"):
        plain[part] = {each["name"]: each for each in plain[part]}
    plain["steps"] = {name: each["sql"] for name, each in plain["steps"].items()}
    plain["actions"] = {each["output"]["name"]: each["operation"] for each in plain["actions"]}
    plain["engine"] = {"name": engine.engine.name, "conf": dict(engine.conf), "envs": dict(engine.envs)}
    found: Definition = _essence({key: value for key, value in plain.items() if key != "name"})
    return found


def _essence(value: Any) -> Any:
    """The value without positions and unset fields."""
    if isinstance(value, Mapping):
        if "address" in value and "depot" in value:  # a dataset: its depot's location is not part of the workflow
            return f"{value['address']} ({value['format']})" if "format" in value else value["address"]
        kept = {key: _essence(each) for key, each in value.items() if key not in _POSITIONS}
        return {key: each for key, each in kept.items() if each not in _NOTHING}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_essence(each) for each in value]
    return value
