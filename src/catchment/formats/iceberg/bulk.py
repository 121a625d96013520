"""Loops over files and snapshots that run inside the JVM: a call from here for each of them takes a millisecond."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from catchment.errors import JobError
from catchment.formats.iceberg.java import PACKAGE, Jvm
from catchment.jvm.causes import JVM_ERRORS, first_cause
from catchment.jvm.classes import bound, java_array, java_class, method_handle
from catchment.store.descriptors import lines_of

JSON = f"{PACKAGE}.shaded.com.fasterxml.jackson"
GUAVA = f"{PACKAGE}.relocated.com.google.common"
AT_ONCE = 1_000
"""Descriptors that are in the JVM as text at one time."""
SHORT = 65_536
"""Characters; a longer text is quicker through a file."""


@dataclass(frozen=True)
class Adder:
    """A method that takes data files one by one."""

    owner: str
    """The interface that declares it."""
    method: str
    takes: str = f"{PACKAGE}.DataFile"


APPEND = Adder(f"{PACKAGE}.AppendFiles", "appendFile")
OVERWRITE = Adder(f"{PACKAGE}.OverwriteFiles", "addFile")
REPLACE_PARTITIONS = Adder(f"{PACKAGE}.ReplacePartitions", "addFile")
INTO_LIST = Adder("java.util.List", "add", "java.lang.Object")


def add_files(
    session: SparkSession, adder: Adder, into: Any, descriptors: Sequence[Mapping[str, Any]], specs: Any
) -> None:
    """Add the files of these descriptors to an operation."""
    add = bound(session, "java.util.function.Consumer", _adding(session, adder), 0, into, specs)
    lines = lines_of(descriptors)
    for first in range(0, len(lines), AT_ONCE):
        _parse(session, f"[{','.join(lines[first : first + AT_ONCE])}]").forEach(add)


def _parse(session: SparkSession, text: str) -> Any:
    """A text as Iceberg's JSON nodes."""
    if len(text) < SHORT:
        return _reader(session).readTree(text)
    with _scratch() as path:
        path.write_text(text)
        stream = Jvm.of(session)("java.io.FileInputStream")(str(path))
        try:
            return _reader(session).readTree(stream)
        finally:
            stream.close()


@lru_cache(maxsize=16)
def _reader(session: SparkSession) -> Any:
    """A reader of JSON that knows NaN and infinity as numbers."""
    jvm = Jvm.of(session)
    numbers = jvm(f"{JSON}.core.JsonParser$Feature").ALLOW_NON_NUMERIC_NUMBERS
    return getattr(jvm.iceberg("util.JsonUtil").mapper().reader(), "with")(numbers)


@lru_cache(maxsize=16)
def _adding(session: SparkSession, adder: Adder) -> Any:
    """A method handle (operation, specs, JSON node): reads the node as a data file and adds it to the operation."""
    handles, node = Jvm.of(session)("java.lang.invoke.MethodHandles"), f"{JSON}.databind.JsonNode"
    parse = method_handle(session, f"{PACKAGE}.ContentFileParser", "fromJson", node, "java.util.Map")
    parse = parse.asType(parse.type().changeReturnType(java_class(session, adder.takes)))
    add = method_handle(session, adder.owner, adder.method, adder.takes)
    parsed = handles.collectArguments(add, 1, parse)  # (operation, node, specs)
    order = [parsed.type().parameterType(index) for index in (0, 2, 1)]
    wanted = Jvm.of(session)("java.lang.invoke.MethodType").methodType(parsed.type().returnType(), order)
    return handles.permuteArguments(parsed, wanted, java_array(session, "int", 0, 2, 1))


def describe(session: SparkSession, files: Any, specs: Any) -> tuple[Mapping[str, Any], ...]:
    """Iceberg's JSON of a Java list of data files, at least one, after checking that Iceberg reads it back.

    Spark writes all of them in one partition spec. NaN and infinity stand there as numbers, which Python's JSON knows
    too: as texts, which is what strict JSON would need, Iceberg does not accept them.
    """
    described, again = _as_json(session, files, specs), Jvm.of(session)("java.util.ArrayList")()
    try:
        add_files(session, INTO_LIST, again, described, specs)
    except JVM_ERRORS as error:
        raise _not_storable(first_cause(error).message) from error
    if not specs.get(files.get(0).specId()).isUnpartitioned():
        check_partitions(described, _as_json(session, again, specs))
    return described


def check_partitions(written: Sequence[Mapping[str, Any]], read: Sequence[Mapping[str, Any]]) -> None:
    """Raise if a partition value became another one on its way through JSON."""
    # Compared as texts: NaN is not equal to itself, but 0.0 is to -0.0, which is another partition.
    for one, other in zip(written, read, strict=True):
        if json.dumps(one["partition"]) != json.dumps(other["partition"]):
            raise _not_storable(f"{one['partition']} is read back as {other['partition']}")


def _not_storable(why: str) -> JobError:
    return JobError(
        f"a partition of these rows cannot be described in a way that Iceberg reads back: {why}",
        code="partition-not-storable",
        hint="nothing was published; partition the table by another column, or replace the value in the last step",
    )


def _as_json(session: SparkSession, files: Any, specs: Any) -> tuple[Mapping[str, Any], ...]:
    jvm, spec = Jvm.of(session), specs.get(files.get(0).specId())
    # Through a file: an answer of more than 8 kB from the JVM waits 40 ms for the network stack's own timer.
    with _scratch() as path:
        stream = jvm("java.io.FileOutputStream")(str(path))
        generator = jvm.iceberg("util.JsonUtil").factory().createGenerator(stream)
        generator.disable(jvm(f"{JSON}.core.JsonGenerator$Feature").QUOTE_NON_NUMERIC_NUMBERS)
        generator.writeStartArray()
        files.forEach(bound(session, "java.util.function.Consumer", _describer(session), 1, spec, generator))
        generator.writeEndArray()
        generator.close()
        return tuple(json.loads(path.read_text()))


@lru_cache(maxsize=16)
def _describer(session: SparkSession) -> Any:
    kinds = f"{PACKAGE}.ContentFile", f"{PACKAGE}.PartitionSpec", f"{JSON}.core.JsonGenerator"
    return method_handle(session, f"{PACKAGE}.ContentFileParser", "toJson", *kinds)


def snapshots(session: SparkSession, listed: Any) -> list[dict[str, Any]]:
    """The snapshots of a Java list, as JSON of the Iceberg table spec."""
    jvm = Jvm.of(session)
    if listed.size() == 1:
        return [json.loads(jvm.iceberg("SnapshotParser").toJson(listed.get(0), False))]  # noqa: FBT003
    with _scratch() as path:
        lines = jvm(f"{GUAVA}.collect.Lists").transform(listed, _snapshot_as_json(session))
        options = java_array(session, "java.nio.file.OpenOption")
        jvm("java.nio.file.Files").write(_file(session, path).toPath(), lines, options)
        return [json.loads(line) for line in path.read_text().splitlines()]


@lru_cache(maxsize=16)
def _snapshot_as_json(session: SparkSession) -> Any:
    written = method_handle(session, f"{PACKAGE}.SnapshotParser", "toJson", f"{PACKAGE}.Snapshot", "boolean")
    return bound(session, f"{GUAVA}.base.Function", written, 1, False)  # noqa: FBT003


@contextmanager
def _scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as directory:
        yield Path(directory) / "lines.json"


def _file(session: SparkSession, path: Path) -> Any:
    return Jvm.of(session)("java.io.File")(str(path))
