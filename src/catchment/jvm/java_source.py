"""Compiles Java source in an engine with Janino, which is part of Spark.

Each engine compiles for itself, into a directory of its own that Spark removes: in a shared cache, other processes
could replace the classes.
"""

from __future__ import annotations

import os
import tempfile
import threading
import zipfile
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from pyspark import SparkContext, SparkFiles
from pyspark.sql import SparkSession

from catchment.jvm.classes import Jvm

_loading = threading.Lock()
_loaded: WeakKeyDictionary[SparkContext, set[str]] = WeakKeyDictionary()
"""The classes that each application has."""


def load(spark: SparkSession, name: str, source: Path) -> None:
    """Compile a source file, unless that was done already, and make its class known to every thread of the engine."""
    with _loading:
        known = _loaded.setdefault(spark.sparkContext, set())
        if name not in known:
            _load(Jvm.of(spark), name, source)
            known.add(name)


def _load(jvm: Jvm, name: str, source: Path) -> None:
    loader = jvm("java.lang.Thread").currentThread().getContextClassLoader()
    jar = _packed(_compiled(jvm, loader, source.read_text(encoding="utf-8")), Path(SparkFiles.getRootDirectory()))
    loader.addURL(jvm("java.io.File")(str(jar)).toURI().toURL())
    jvm("java.lang.Class").forName(name, True, loader)  # noqa: FBT003


def _compiled(jvm: Jvm, loader: Any, source: str) -> dict[str, bytes]:
    compiler = jvm("org.codehaus.janino.SimpleCompiler")()
    compiler.setParentClassLoader(loader)
    compiler.cook(source)
    return {str(name): bytes(code) for name, code in compiler.getBytecodes().items()}


def _packed(classes: dict[str, bytes], directory: Path) -> Path:
    """A new jar with the classes."""
    number, jar = tempfile.mkstemp(dir=directory, suffix=".jar")
    with os.fdopen(number, "wb") as file, zipfile.ZipFile(file, "w") as archive:
        for name, code in classes.items():
            archive.writestr(f"{name.replace('.', '/')}.class", code)
    return Path(jar)
