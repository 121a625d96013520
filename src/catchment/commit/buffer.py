"""A buffer: a write's data files in their final place, referenced by nobody until the write is published."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from catchment.commit import faults
from catchment.commit.fork import Fork
from catchment.commit.model import Contents
from catchment.errors import StorageUnavailable


def fill(frame: DataFrame, fork: Fork, buffer: str, options: Mapping[str, str]) -> Contents:
    """Write the frame into the buffer and say what is in it; every file was seen in the store with its full length."""
    faults.point("before-data-written")
    files = fork.fill(frame, options)
    faults.point("data-written")
    descriptors = tuple(_descriptors(fork, files))
    _check(fork.java.io(), buffer, descriptors)
    rows, size = (sum(int(d[key]) for d in descriptors) for key in ("record-count", "file-size-in-bytes"))
    return Contents(descriptors, rows, size, len(descriptors))


def _descriptors(fork: Fork, files: list[Any]) -> list[dict[str, Any]]:
    """Iceberg's JSON of data files."""
    specs, parser = fork.java.specs(), fork.jvm.iceberg("ContentFileParser")
    # Through a file: an answer of more than 8 kB from the JVM waits 40 ms for the network stack's own timer.
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "files.json"
        stream = fork.jvm("java.io.FileOutputStream")(str(path))
        generator = fork.jvm.iceberg("util.JsonUtil").factory().createGenerator(stream)
        generator.writeStartArray()
        for file in files:
            parser.toJson(file, specs.get(file.specId()), generator)
        generator.writeEndArray()
        generator.close()
        return list(json.loads(path.read_text()))


def _check(io: Any, buffer: str, descriptors: tuple[dict[str, Any], ...]) -> None:
    """Nothing is sealed that is not there: commits check neither that a file exists nor what is in it."""
    stored = _stored(io, buffer, [descriptor["file-path"] for descriptor in descriptors])
    for descriptor in descriptors:
        name, written = _inside(buffer, descriptor["file-path"]), int(descriptor["file-size-in-bytes"])
        if stored.get(name) != written:
            raise _damaged(buffer, f"{name} should have {written} bytes, and has {stored.get(name, 'vanished')}")


def _stored(io: Any, buffer: str, paths: list[str]) -> dict[str, int]:
    """The lengths of the files in the store, with as few requests as possible."""
    if len(paths) < 2:
        return {_inside(buffer, path): int(io.newInputFile(path).getLength()) for path in paths}
    return {_inside(buffer, f.location()): int(f.size()) for f in io.listPrefix(buffer).iterator()}


def _inside(buffer: str, path: str) -> str:
    """A path below the buffer; stores spell the same directory in several ways, never its own name."""
    return path.rpartition(buffer.rpartition("/")[2])[2]


def _damaged(buffer: str, why: str) -> StorageUnavailable:
    return StorageUnavailable(
        f"the buffer {buffer} is not what was written: {why}",
        code="buffer-damaged",
        hint="nothing was published; if it happens again, look for a cleaner that works inside the table's directory",
    )
