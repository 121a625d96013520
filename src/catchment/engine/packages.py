"""Installs what an engine needs before it can start: Java, Spark and the jars."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from threading import Event

from catchment import private_files
from catchment.engine import cache, class_archive, jar_files, java, maven
from catchment.engine.coordinates import SparkLine, packages_of, spark_line
from catchment.engine.environment import Installed
from catchment.errors import RequestError, SetupError
from catchment.own_program import own_program
from catchment.plan.model import EnginePlan
from catchment.project.spark_versions import installed_at, python_path


def install(engine: EnginePlan, report: cache.Report, cancelled: Event | None = None) -> Installed:
    """Find or download what the engine needs; `report` gets one line per download."""
    try:
        return _install(engine, report, cancelled or Event())
    except PermissionError as error:
        raise cache.not_usable(error) from error


def _install(engine: EnginePlan, report: cache.Report, cancelled: Event) -> Installed:
    private_files.tighten(cache.root(), 0o700)
    java.require_user()
    found = java.find()
    home, python_path = _spark(engine, report, cancelled)
    jars = maven.jars(packages_of(engine), found, ivy(), report, cancelled)
    installed = Installed(jars, python_path, str(home))
    return replace(installed, java_options=class_archive.java_options(engine, installed, found, report, cancelled))


def _spark(engine: EnginePlan, report: cache.Report, cancelled: Event) -> tuple[Path, tuple[str, ...]]:
    line = spark_line(engine)
    if engine.engine.spark_home:
        return _configured_spark(Path(engine.engine.spark_home), engine)
    if importlib.metadata.version("pyspark") == line.pyspark:
        return _own_pyspark(), ()
    directory = cache.root() / f"pyspark-{line.pyspark}"
    if not directory.is_dir():
        with cache.locked("pyspark"):
            if not directory.is_dir():
                _install_pyspark(line, directory, report, cancelled)
    jar_files.check_installed(directory, line.pyspark)
    return directory / "pyspark", (str(directory),)


def _configured_spark(home: Path, engine: EnginePlan) -> tuple[Path, tuple[str, ...]]:
    """A Spark on this machine, which may have changed since the project file was read."""
    try:
        found = installed_at(home)
    except RequestError as error:
        raise error.at(engine.engine.where) from error
    if found.line != engine.engine.spark:
        raise RequestError(
            f"engine {engine.engine.name}: the Spark at {home} is {found.version}, not {engine.engine.spark}",
            code="spark-home-differs",
            where=engine.engine.where,
            hint="run the command again, so that it is planned for the Spark that is there now",
        )
    return home, tuple(python_path(home))


def _install_pyspark(line: SparkLine, directory: Path, report: cache.Report, cancelled: Event) -> None:
    report(f"installing Spark {line.pyspark} (once; a large download)")
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".new-") as text:
        target = Path(text) / "packages"
        uv = (*own_program("uv"), "pip", "install", "--quiet", "--python", sys.executable)
        pinned = ("--require-hashes", "-r", str(line.requirements), "--build-constraints", str(line.requirements))
        code, output = cache.run_quietly((*uv, "--target", str(target), *pinned), cancelled)
        if code != 0:
            raise SetupError(
                f"Spark {line.pyspark} could not be installed",
                code="spark-not-installed",
                hint="check that this machine reaches the Python package index, and run the command again",
                detail=output,
            )
        shutil.move(target, directory)


def _own_pyspark() -> Path:
    # Found without importing it: the launcher must not spend time on loading Spark.
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise SetupError("pyspark is not installed", code="spark-not-installed", hint="install Catchment again")
    return Path(spec.submodule_search_locations[0])


def ivy() -> Path:
    """The jar of Ivy, which Spark includes."""
    found = sorted((_own_pyspark() / "jars").glob("ivy-*.jar"))
    if not found:
        raise SetupError("pyspark lacks its ivy jar", code="spark-not-installed", hint="install Catchment again")
    return found[-1]
