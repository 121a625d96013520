"""What a workflow says, as data that is recorded with a run and compared with what it says later.

Positions, paths of this machine and everything that is left at its default are left out: two definitions are equal if
the runs of both would do the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from catchment.plan.model import EnginePlan, JobPlan, Plan

Definition = Mapping[str, Any]
"""By the name of each job, what the job does."""

_POSITIONS = frozenset({"where", "sql_where", "sql_lines", "lines"})
_NOTHING: tuple[object, ...] = (None, "", 0, False, {}, [])
"""What a field has that nobody has set."""


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
    """The value without positions and without what says nothing."""
    if isinstance(value, Mapping):
        if "address" in value and "depot" in value:  # a dataset: where its depot is does not belong to the workflow
            return f"{value['address']} ({value['format']})" if "format" in value else value["address"]
        kept = {key: _essence(each) for key, each in value.items() if key not in _POSITIONS}
        return {key: each for key, each in kept.items() if each not in _NOTHING}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_essence(each) for each in value]
    return value
