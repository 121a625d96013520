"""Engines that run out of memory: how that is recognised, and the errors that say so."""

from __future__ import annotations

import shlex
from pathlib import Path

from catchment.errors import CatchmentError, EngineOutOfMemory
from catchment.plan.model import EnginePlan

EXIT_CODE = 52
"""Spark's exit code when a task runs out of memory; the worker passes it on to the launcher."""
JAVA_EXIT_CODES = frozenset({EXIT_CODE, 3})
"""With the exit code of Java under -XX:+ExitOnOutOfMemoryError."""
DRIVER, EXECUTOR = "spark.driver.memory", "spark.executor.memory"
DEFAULT_MEMORY = "1g"
MARKER_FILE = "out-of-memory"
"""A file in the engine's scratch directory that Java creates when it runs out of memory."""


def java_option(scratch: Path) -> str:
    """The Java option that creates the marker file, even if no thread of Java can answer any more."""
    return f"-XX:OnOutOfMemoryError=touch {shlex.quote(str(scratch / MARKER_FILE))}"


def exit_code(java: int | None) -> int:
    """The exit code of a worker, given that of its JVM (None: the JVM still runs)."""
    return EXIT_CODE if java in JAVA_EXIT_CODES else 1


def out_of_memory(engine: EnginePlan, log: str) -> EngineOutOfMemory:
    """The error of an engine that ended because it ran out of memory."""
    return EngineOutOfMemory(
        f"engine {engine.key} ran out of memory and ended; it had {amounts(engine)}",
        hint=f"{_hint(engine)}. {log} has Java's messages",
    )


def with_amounts(problem: CatchmentError, engine: EnginePlan) -> CatchmentError:
    """The out-of-memory error of an engine that keeps running, with how much memory it has and what to do."""
    if problem.hint == _hint(engine):
        return problem  # the amounts were added before
    message = f"{problem.message}; engine {engine.key} has {amounts(engine)}"
    return problem.changed(message=message, hint=_hint(engine))


def amounts(engine: EnginePlan) -> str:
    """How much memory an engine has, and the settings that determine it."""
    return " and ".join(_amount(engine, setting) for setting in _settings(engine))


def _amount(engine: EnginePlan, setting: str) -> str:
    configured = engine.conf.get(setting)
    return f"{configured} ({setting})" if configured else f"{DEFAULT_MEMORY} ({setting} is not set)"


def _settings(engine: EnginePlan) -> tuple[str, ...]:
    """The memory settings that count: with a local master, tasks run in the driver."""
    return (DRIVER,) if engine.engine.is_local else (DRIVER, EXECUTOR)


def _hint(engine: EnginePlan) -> str:
    return (
        f"raise {' or '.join(_settings(engine))} in `conf` of engine {engine.engine.name} in catchment.yaml, or for "
        "this job alone `driver: {memory: …}`; or do less at once: fewer jobs (--jobs), less in one row or group"
    )
