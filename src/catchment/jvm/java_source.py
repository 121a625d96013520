"""Compiles Java source in an engine with Janino, which is part of Spark, and keeps it as a jar in the user's cache."""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from catchment.jvm.classes import Jvm


def load(spark: SparkSession, name: str, source: Path, jars: Path) -> None:
    """Make the class of a source file known to every thread of the engine; `jars` is the directory of its jars."""
    jvm = Jvm.of(spark)
    loader = jvm("java.lang.Thread").currentThread().getContextClassLoader()
    text = source.read_text(encoding="utf-8")
    line = ".".join(spark.version.split(".")[:2])
    jar = jars / f"{line}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.jar"
    if not jar.exists():
        _pack(_compiled(jvm, loader, text), jar)
    loader.addURL(jvm("java.io.File")(str(jar)).toURI().toURL())
    jvm("java.lang.Class").forName(name, True, loader)  # noqa: FBT003


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
