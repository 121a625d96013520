"""Quick starts: the classes that Spark loads on its way to a first commit, archived for the JVM once.

A cold engine spends half of its start on finding, parsing and verifying some 20,000 classes. Java can map them from
an archive instead (class data sharing). It checks the archive against class path and jars by itself and quietly does
without where they differ, so an archive can make a start quicker and never wrong.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import sys
import tempfile
from pathlib import Path
from threading import Event

from catchment.engine import cache
from catchment.engine.environment import Installed, environment
from catchment.engine.java import Java
from catchment.engine.protocol import Start, encode
from catchment.plan.model import EnginePlan
from catchment.project.model import EMBEDDED, Catalog, Depot, Engine

MOST_KEPT = 12
"""Archives are large, and each fits one Java, one Spark and one set of jars."""

SCRATCH = ".new-"

NO_SHARING = "-Xshare:off"
"""Java's own switch; a user who sets it wants no archive made either."""


def java_options(
    engine: EnginePlan, installed: Installed, java: Java, tell: cache.Tell, cancelled: Event
) -> tuple[str, ...]:
    """What Java must be told to start quickly with this Spark and these jars."""
    if NO_SHARING in engine.conf.get("spark.driver.extraJavaOptions", ""):
        return ()
    path = cache.root() / "archives" / f"{_fingerprint(installed, java)}.jsa"
    if not path.exists():
        with cache.locked("archives"):
            if not path.exists():
                tell("preparing Spark for quick starts (once)")
                _make(path, engine, installed, cancelled)
    path.touch()  # what is in use is kept longest
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
        command = (sys.executable, "-m", "catchment.worker.warmup", str(request))
        variables = environment(installed.spark_home, installed.python_path, {}, scratch)
        cache.run_quietly(command, cancelled, variables)
        if not made.exists():
            made.touch()  # a machine that cannot make one is not asked again at every start
        made.replace(path)
    _prune(path.parent)


def _training_plan(engine: EnginePlan, scratch: str) -> EnginePlan:
    """An engine like the one that is to start, on a lake of its own."""
    depot = Depot("lake", EMBEDDED, f"{scratch}/lake", Catalog("jdbc", database=f"{scratch}/catalog.db"))
    settings = Engine("training", spark=engine.engine.spark, master="local[2]")
    return EnginePlan("training", settings, depots=(depot,), metastore=f"sqlite:///{scratch}/metastore.db")


def _prune(directory: Path) -> None:
    archives = sorted(directory.glob("*.jsa"), key=lambda archive: archive.stat().st_mtime, reverse=True)
    for old in archives[MOST_KEPT:]:
        with contextlib.suppress(FileNotFoundError):
            old.unlink()
    for left in directory.glob(f"{SCRATCH}*"):  # whoever made it was killed: archives are made one at a time
        shutil.rmtree(left, ignore_errors=True)
