"""How many cores the engines that look after a lake may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from catchment.errors import RequestError
from catchment.plan.fitting import choose_reader
from catchment.project import depots
from catchment.project.address import is_address, parse
from catchment.project.model import Engine, Project

STANDALONE = "spark://"


def with_cores(project: Project, cores: int) -> Project:
    """The project with engines that use at most so many cores; raises where the cluster knows no such limit."""
    for engine in _in_use(project):
        if not (engine.is_local or engine.master.startswith(STANDALONE)):
            raise RequestError(
                f"`--cores` has no effect on engine `{engine.name}`, which runs on {engine.master}",
                code="option-without-effect",
                hint="leave it out, and set spark.executor.instances and spark.executor.cores in the engine's `conf`",
                where=engine.where,
            )
    return replace(project, engines={name: _limited(engine, cores) for name, engine in project.engines.items()})


def _limited(engine: Engine, cores: int) -> Engine:
    if engine.is_local:
        return replace(engine, master=f"local[{cores}]")
    return replace(engine, conf={**engine.conf, "spark.cores.max": str(cores)})


def _in_use(project: Project) -> Iterator[Engine]:
    """The engines that tables and named files need."""
    holding = {depot.name for depot in depots.known(project) if depots.holds_tables(depot)}
    named = {parse(name).depot for name in project.maintain if is_address(name)}
    for depot in sorted(holding | named):
        with suppress(RequestError):  # a depot that no engine fits is reported when its tables are listed
            yield choose_reader(project, None, {depot}).engine
