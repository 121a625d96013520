"""Everything an engine must find on the machine before it starts: a Java, a Spark and its jars."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from threading import Event

from catchment.engine import cache, class_archive, java, maven
from catchment.engine.coordinates import SparkLine, packages_of, spark_line
from catchment.engine.environment import Installed
from catchment.errors import RequestError, SetupError
from catchment.plan.model import EnginePlan


def install(engine: EnginePlan, tell: cache.Tell, cancelled: Event | None = None) -> Installed:
    """Find or bring what the engine needs; `tell` gets one line per download, and none when all is there."""
    cancelled = cancelled or Event()
    found = java.find()
    home, python_path = _spark(engine, tell, cancelled)
    jars = maven.jars(packages_of(engine), found, _ivy(), tell, cancelled)
    installed = Installed(jars, python_path, str(home))
    return replace(installed, java_options=class_archive.java_options(engine, installed, found, tell, cancelled))


def _spark(engine: EnginePlan, tell: cache.Tell, cancelled: Event) -> tuple[Path, tuple[str, ...]]:
    line = spark_line(engine)
    if engine.engine.spark_home:
        return _given(Path(engine.engine.spark_home), engine)
    if importlib.metadata.version("pyspark") == line.pyspark:
        return _own_pyspark(), ()
    directory = cache.root() / f"pyspark-{line.pyspark}"
    if not directory.is_dir():
        with cache.locked("pyspark"):
            if not directory.is_dir():
                _bring(line, directory, tell, cancelled)
    return directory / "pyspark", (str(directory),)


def _given(home: Path, engine: EnginePlan) -> tuple[Path, tuple[str, ...]]:
    bridges = sorted(map(str, home.glob("python/lib/py4j-*-src.zip")))
    if not (home / "jars").is_dir() or not bridges:
        raise RequestError(
            f"engine {engine.engine.name}: there is no Spark at {home}",
            code="spark-home-invalid",
            where=engine.engine.where,
            hint="spark_home is the directory that holds bin, jars and python of a Spark distribution",
        )
    return home, (str(home / "python"), *bridges)


def _bring(line: SparkLine, directory: Path, tell: cache.Tell, cancelled: Event) -> None:
    tell(f"installing Spark {line.pyspark} (once; a large download)")
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".new-") as text:
        target = Path(text) / "packages"
        wanted = (f"pyspark=={line.pyspark}", *line.python_packages)
        uv = (sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", sys.executable)
        code, output = cache.run_quietly((*uv, "--target", str(target), *wanted), cancelled)
        if code != 0:
            raise SetupError(
                f"Spark {line.pyspark} could not be installed",
                code="spark-not-installed",
                hint="check that this machine reaches the Python package index, and run the command again",
                detail=output,
            )
        shutil.move(target, directory)


def _own_pyspark() -> Path:
    # Looked up, not imported: this side of the process boundary never pays for Spark.
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise SetupError("pyspark is not installed", code="spark-not-installed", hint="install Catchment again")
    return Path(spec.submodule_search_locations[0])


def _ivy() -> Path:
    found = sorted((_own_pyspark() / "jars").glob("ivy-*.jar"))
    if not found:
        raise SetupError("pyspark lacks its ivy jar", code="spark-not-installed", hint="install Catchment again")
    return found[-1]
