"""An engine that runs out of memory: how that is told from other ends, and what is said about it."""

from __future__ import annotations

import shlex
from pathlib import Path

from catchment.errors import CatchmentError, EngineOutOfMemory
from catchment.plan.model import EnginePlan

EXIT_CODE = 52
"""Spark's own, where a task runs out of memory; the worker passes it on to the launcher."""
JAVA_EXIT_CODES = frozenset({EXIT_CODE, 3})
"""Also Java's, where it was told to exit by -XX:+ExitOnOutOfMemoryError."""
DRIVER, EXECUTOR = "spark.driver.memory", "spark.executor.memory"
SPARKS_DEFAULT = "1g"
MARK = "out-of-memory"
"""A file in the engine's scratch directory: Java has run out of memory, whether or not it could say so."""


def java_option(scratch: Path) -> str:
    """What lets Java leave the mark, even where none of its threads can answer any more."""
    return f"-XX:OnOutOfMemoryError=touch {shlex.quote(str(scratch / MARK))}"


def exit_code(java: int | None) -> int:
    """The exit code of a worker whose JVM has ended, by the JVM's own (None: it still runs)."""
    return EXIT_CODE if java in JAVA_EXIT_CODES else 1


def out_of_memory(engine: EnginePlan, log: str) -> EngineOutOfMemory:
    """The error of an engine that ended because it had no memory left."""
    return EngineOutOfMemory(
        f"engine {engine.key} ran out of memory and ended; it had {amounts(engine)}",
        hint=f"{_hint(engine)}. {log} has Java's own words",
    )


def with_amounts(problem: CatchmentError, engine: EnginePlan) -> CatchmentError:
    """An error of an engine that goes on after it ran out of memory, with how much it has and what to do."""
    if problem.hint == _hint(engine):
        return problem  # it was said before
    message = f"{problem.message}; engine {engine.key} has {amounts(engine)}"
    return problem.changed(message=message, hint=_hint(engine))


def amounts(engine: EnginePlan) -> str:
    """How much memory an engine has, and which settings say so."""
    return " and ".join(_amount(engine, setting) for setting in _settings(engine))


def _amount(engine: EnginePlan, setting: str) -> str:
    said = engine.conf.get(setting)
    return f"{said} ({setting})" if said else f"{SPARKS_DEFAULT} ({setting} is not set)"


def _settings(engine: EnginePlan) -> tuple[str, ...]:
    """With a local master, tasks run in the driver."""
    return (DRIVER,) if engine.engine.master.startswith("local") else (DRIVER, EXECUTOR)


def _hint(engine: EnginePlan) -> str:
    return (
        f"raise {' or '.join(_settings(engine))} in `conf` of engine {engine.engine.name} in catchment.yaml, or for "
        "this job alone `driver: {memory: …}`; or do less at once: fewer jobs (--jobs), less in one row or group"
    )
