"""The engines of a project: what each can read and write, and which of them run now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from catchment.engine.coordinates import SPARK_LINES
from catchment.formats.registry import all_traits
from catchment.plan import fitting
from catchment.project import depots
from catchment.project.model import Engine, Project
from catchment.project.spark_versions import installed_at
from catchment.run.residents.control import ResidentReport, reports
from catchment.store import read_store
from catchment.store.engines import LivingEngine


@dataclass(frozen=True)
class EngineReport:
    """One engine of a project."""

    name: str
    made: bool
    """Whether Catchment makes it when a job needs it; it is not in the project file."""
    spark: str
    """The version of Spark."""
    spark_home: str | None
    master: str
    formats: tuple[str, ...]
    """The formats that it can read and write."""
    depots: tuple[str, ...]
    """The depots that it can read and write."""
    running: tuple[LivingEngine, ...]


@dataclass(frozen=True)
class EngineList:
    engines: tuple[EngineReport, ...]
    others: tuple[LivingEngine, ...]
    """Running engines that the project does not know; other projects may use the same metastore."""
    residents: tuple[ResidentReport, ...]
    """Engines that stay on this machine when the command that started them has ended."""


def list_engines(project: Project) -> EngineList:
    """Every engine of a project, those that would be made included; no engine is started."""
    with read_store(project.metastore) as store:
        living = store.engines.living()
    known = fitting.available(project)
    engines = tuple(_report(engine, project, living) for engine in known.values())
    others = tuple(each for each in living if each.engine not in known)
    return EngineList(engines, others, tuple(reports(project)))


def _report(engine: Engine, project: Project, living: Sequence[LivingEngine]) -> EngineReport:
    return EngineReport(
        engine.name,
        fitting.is_made(engine, project),
        _version(engine),
        engine.spark_home,
        engine.master,
        tuple(traits.name for traits in all_traits() if traits.runs_on(engine.spark)),
        tuple(depot.name for depot in depots.known(project) if fitting.fits(engine, [depot])),
        tuple(each for each in living if each.engine == engine.name),
    )


def _version(engine: Engine) -> str:
    return installed_at(Path(engine.spark_home)).version if engine.spark_home else SPARK_LINES[engine.spark].pyspark
