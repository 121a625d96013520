"""Which engine fits which depots: a format may have packages for only some lines of Spark."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from catchment.errors import RequestError
from catchment.formats.registry import held_by
from catchment.project import depots
from catchment.project.model import Depot, Engine, Project
from catchment.project.spark_versions import SPARK_LINES
from catchment.spec.validation import did_you_mean

DEFAULT = "default"
_OWN_JARS = "spark.jars"
"""Prefix of the settings that name jars; a jar fits only one line of Spark."""


@dataclass(frozen=True)
class Choice:
    """The engine chosen for some depots."""

    engine: Engine
    reason: str | None = None
    """Why it is not the default engine; None if it is, or if it was requested by name."""


def available(project: Project) -> dict[str, Engine]:
    """Every engine that can be used: `default`, the others of the project, and those that Catchment makes.

    Catchment makes a copy of `default` for each line of Spark that no engine of the project has. If `default` runs on
    a cluster it makes none: a cluster has one line of Spark, and the project names no other place to run jobs.
    """
    default = project.engines[DEFAULT]
    engines = {DEFAULT: default, **project.engines}
    if default.is_local:
        taken = {engine.spark for engine in engines.values()}
        engines |= {f"spark-{line}": _like(default, line) for line in SPARK_LINES if line not in taken}
    return engines


def is_made(engine: Engine, project: Project) -> bool:
    """Whether Catchment makes this engine, so that it is not in the project file."""
    return engine.name not in project.engines


def named(project: Project, name: str) -> Engine:
    """The engine of this name; raises if there is none."""
    engines = available(project)
    if name not in engines:
        others = f"engines of this project: {', '.join(sorted(engines))}"
        hint = did_you_mean(name, engines) or others
        raise RequestError(f"the project has no engine `{name}`", code="unknown-engine", hint=hint)
    return engines[name]


def fits(engine: Engine, used: Collection[Depot]) -> bool:
    """Whether an engine can read and write all of these depots."""
    return all(engine.spark in lines_of(depot) for depot in used)


def lines_of(depot: Depot) -> tuple[str, ...]:
    """The lines of Spark that can read and write a depot."""
    return tuple(line for line in SPARK_LINES if all(traits.runs_on(line) for traits in held_by(depot.kind)))


def require(engine: Engine, used: Collection[Depot], project: Project) -> None:
    """Raise if an engine that was requested by name cannot handle all of the depots."""
    unfit = [depot for depot in used if not fits(engine, [depot])]
    if unfit:
        able = [each.name for each in available(project).values() if fits(each, used)]
        hint = f"use an engine that fits ({', '.join(able)}), or name none: then one is chosen"
        raise RequestError(
            f"engine `{engine.name}` has Spark {engine.spark}, and {_needs(unfit)}",
            code="unsuitable-engine",
            hint=hint if able else _way_out(used),
        )


def choose(project: Project, used: Collection[Depot]) -> Choice:
    """The first engine that can handle all of these depots, `default` before all others; raises if there is none."""
    engines = available(project)
    found = next((engine for engine in engines.values() if fits(engine, used)), None)
    if found is None:
        raise _none_fits(used)
    if found.name == DEFAULT:
        return Choice(found)
    default = engines[DEFAULT]
    unfit = [depot for depot in used if not fits(default, [depot])]
    return Choice(found, f"{_needs(unfit)}, and engine `{DEFAULT}` has Spark {default.spark}")


def choose_reader(project: Project, name: str | None, tables: Collection[str]) -> Choice:
    """The engine for reading the depots named in `tables`: the engine `name`, or else one that fits."""
    asked = [depot for depot in depots.known(project) if depot.name in tables]
    if name is None:
        return choose(project, asked)
    engine = named(project, name)
    require(engine, asked, project)
    return Choice(engine)


def grouped(project: Project, used: Collection[str]) -> list[set[str]]:
    """Depot names in groups that one engine can handle; each depot goes to the first engine that fits it."""
    groups: dict[str, set[str]] = {}
    for name in used:
        groups.setdefault(choose_reader(project, None, {name}).engine.name, set()).add(name)
    return list(groups.values())


def _like(default: Engine, line: str) -> Engine:
    conf = {key: value for key, value in default.conf.items() if not key.startswith(_OWN_JARS)}
    return replace(default, name=f"spark-{line}", spark=line, conf=conf, packages=(), spark_home=None, where=None)


def _none_fits(used: Collection[Depot]) -> RequestError:
    common = [line for line in SPARK_LINES if all(line in lines_of(depot) for depot in used)]
    if not common:
        return RequestError(
            f"no line of Spark can handle all of these depots: {_needs(_choosy(used))}",
            code="no-suitable-engine",
            hint=_way_out(used),
        )
    return RequestError(
        f"{_needs(_choosy(used))}, and no engine of this project has it",
        code="no-suitable-engine",
        hint=f'add an engine of that line to `engines` in catchment.yaml: old: {{spark: "{common[0]}"}}',
    )


def _way_out(used: Collection[Depot]) -> str:
    if len(used) == 1:
        return "add an engine of a line that fits to `engines` in catchment.yaml"
    return (
        "split it into two jobs: the first writes what the second needs to a depot that both lines of Spark can use, "
        "such as plain files"
    )


def _choosy(used: Collection[Depot]) -> list[Depot]:
    """The depots that not every line of Spark can handle."""
    return [depot for depot in used if len(lines_of(depot)) < len(SPARK_LINES)]


def _needs(unfit: Sequence[Depot]) -> str:
    lines = (f"depot `{depot.name}` ({depot.kind}) needs Spark {' or '.join(lines_of(depot))}" for depot in unfit)
    return "; ".join(lines)
