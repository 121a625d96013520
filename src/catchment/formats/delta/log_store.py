"""Lets Delta commit through a log store of ours where the store itself can refuse a second commit of a version.

Its Java source is compiled in the engine by Janino, which is part of Spark, and kept as a jar in the user's cache.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from catchment.jvm.classes import Jvm

CLASS = "catchment.delta.ConditionalLogStore"
SOURCE = Path(__file__).with_name("ConditionalLogStore.java")
SCHEMES = ("file", "s3", "s3a")
CONDITIONAL_SINCE = (3, 4, 2)
"""The first Hadoop whose S3 client can create a file only if it does not exist."""


def install(spark: SparkSession, cache: Path) -> None:
    """Let Delta use it, except where the user has configured a log store. Without it, the table's lease protects."""
    conf = spark.sparkContext._jsc.sc().conf()
    free = [scheme for scheme in SCHEMES if not conf.contains(key(scheme)) and _is_possible(spark, scheme)]
    if not free:
        return
    try:
        _load(spark, cache)
    except Exception:
        logging.getLogger(__name__).warning("no log store that refuses a second commit", exc_info=True)
        return
    for scheme in free:
        conf.set(key(scheme), CLASS)


def key(scheme: str) -> str:
    """The setting that chooses the log store of a scheme."""
    return f"spark.delta.logStore.{scheme}.impl"


def refuses_second_commit(spark: SparkSession, log_path: str) -> bool:
    """Whether our log store is in use for a table's log, and its store refuses to create a file that exists."""
    jvm = Jvm.of(spark)
    path = jvm("org.apache.hadoop.fs.Path")(log_path)
    settings = spark._jsparkSession.sessionState().newHadoopConf()
    scheme = str(path.getFileSystem(settings).getUri().getScheme())
    used = spark.sparkContext._jsc.sc().conf().get(key(scheme), "")
    return bool(used == CLASS and jvm(CLASS).refuses(path, settings))


def _is_possible(spark: SparkSession, scheme: str) -> bool:
    version = str(Jvm.of(spark)("org.apache.hadoop.util.VersionInfo").getVersion())
    return scheme == "file" or tuple(int(part) for part in version.split("-")[0].split(".")[:3]) >= CONDITIONAL_SINCE


def _load(spark: SparkSession, cache: Path) -> None:
    """Make the class known to every thread of the engine."""
    jvm = Jvm.of(spark)
    loader = jvm("java.lang.Thread").currentThread().getContextClassLoader()
    source = SOURCE.read_text(encoding="utf-8")
    line = ".".join(spark.version.split(".")[:2])
    jar = cache / "log-store" / f"{line}-{hashlib.sha256(source.encode()).hexdigest()[:16]}.jar"
    if not jar.exists():
        _pack(_compiled(jvm, loader, source), jar)
    loader.addURL(jvm("java.io.File")(str(jar)).toURI().toURL())
    jvm("java.lang.Class").forName(CLASS, True, loader)  # noqa: FBT003


def _compiled(jvm: Jvm, loader: Any, source: str) -> dict[str, bytes]:
    compiler = jvm("org.codehaus.janino.SimpleCompiler")()
    compiler.setParentClassLoader(loader)
    compiler.cook(source)
    return {str(name): bytes(code) for name, code in compiler.getBytecodes().items()}


def _pack(classes: dict[str, bytes], jar: Path) -> None:
    """Write the jar as a whole: several engines may do so at once."""
    jar.parent.mkdir(parents=True, exist_ok=True)
    number, draft = tempfile.mkstemp(dir=jar.parent)
    with os.fdopen(number, "wb") as file, zipfile.ZipFile(file, "w") as archive:
        for name, code in classes.items():
            archive.writestr(f"{name.replace('.', '/')}.class", code)
    Path(draft).replace(jar)
