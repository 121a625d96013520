"""Faster engine starts: an archive of the classes that Spark loads up to its first commit (class data sharing).

A cold engine spends half of its start on finding, parsing and verifying some 20,000 classes. Java can map them from
an archive instead. Java checks the archive against the class path and the jars, and ignores it if they differ. An
archive can therefore make a start faster, but never wrong.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
from pathlib import Path
from threading import Event

from catchment.engine import cache
from catchment.engine.environment import Installed, environment
from catchment.engine.java import Java
from catchment.engine.protocol import Start
from catchment.engine.wire import encode
from catchment.own_program import own_program
from catchment.plan.model import EnginePlan
from catchment.project.model import EMBEDDED, Catalog, Depot, Engine

MAX_ARCHIVES = 12
"""Archives are large, and each one fits only one Java, one Spark and one set of jars."""

SCRATCH = ".new-"

FAULT = "CATCHMENT_FAULT"
"""The variable with which tests make an engine fail."""
NO_SHARING = "-Xshare:off"
"""The Java option that turns archives off; then none is made either."""


def java_options(
    engine: EnginePlan, installed: Installed, java: Java, report: cache.Report, cancelled: Event
) -> tuple[str, ...]:
    """The Java options that use the archive for this Spark and these jars; the archive is made if it is missing."""
    if NO_SHARING in engine.conf.get("spark.driver.extraJavaOptions", ""):
        return ()
    path = cache.root() / "archives" / f"{_fingerprint(installed, java)}.jsa"
    if not path.exists():
        with cache.locked("archives"):
            if not path.exists():
                report("preparing Spark for faster starts (once)")
                _make(path, engine, installed, cancelled)
    path.touch()  # pruning removes the least recently used archives
    return (f"-XX:SharedArchiveFile={path}",) if path.stat().st_size else ()


def _fingerprint(installed: Installed, java: Java) -> str:
    of_spark = sorted(Path(str(installed.spark_home), "jars").glob("*.jar"))
    status = [(jar, jar.stat()) for jar in (*of_spark, *map(Path, installed.jars))]
    facts = [(str(jar), found.st_size, found.st_mtime_ns) for jar, found in status]
    return hashlib.sha256(repr((java, facts)).encode()).hexdigest()[:16]


def _make(path: Path, engine: EnginePlan, installed: Installed, cancelled: Event) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=SCRATCH) as scratch:
        made, request = Path(scratch) / path.name, Path(scratch) / "start.json"
        option = f"-XX:ArchiveClassesAtExit={made}"
        plan = _training_plan(engine, scratch)
        request.write_bytes(encode(Start(plan, installed.jars, scratch, scratch, java_options=(option,))))
        command = (*own_program("catchment.worker.warmup"), str(request))
        variables = dict(environment(installed.spark_home, installed.python_path, {}, scratch))
        variables.pop(FAULT, None)  # it would strike here, and take along whoever shares our process group
        cache.run_quietly(command, cancelled, variables)
        if not made.exists():
            made.touch()  # an empty file: where no archive can be made, later starts do not try again
        made.replace(path)
    _prune(path.parent)


def _training_plan(engine: EnginePlan, scratch: str) -> EnginePlan:
    """An engine like the one to be started, with a temporary lake of its own."""
    depot = Depot("lake", EMBEDDED, f"{scratch}/lake", Catalog("jdbc", database=f"{scratch}/catalog.db"))
    settings = Engine("training", spark=engine.engine.spark, master="local[2]")
    return EnginePlan("training", settings, depots=(depot,), metastore=f"sqlite:///{scratch}/metastore.db")


def _prune(directory: Path) -> None:
    archives = sorted(directory.glob("*.jsa"), key=lambda archive: archive.stat().st_mtime, reverse=True)
    for old in archives[MAX_ARCHIVES:]:
        with contextlib.suppress(FileNotFoundError):
            old.unlink()
    for left in directory.glob(f"{SCRATCH}*"):  # archives are made one at a time, so these belong to killed processes
        shutil.rmtree(left, ignore_errors=True)
