"""Writes rows into a stage with Spark's own writers, and lists the files of successful tasks.

`DataFrameWriter` would write elsewhere first and then rename file after file, which takes longer than writing on an
object store. The commit protocol of Spark's streaming file sink writes directly to the stage and keeps a list of the
files of successful tasks. Nobody reads the stage, so files that failed tasks leave behind do no harm.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from catchment.errors import JobError
from catchment.formats.files.journal import Addition, FileChanges
from catchment.formats.files.stage import published_name
from catchment.jvm.classes import Jvm

_DATASOURCES = "org.apache.spark.sql.execution.datasources"
FILE_FORMATS: Mapping[str, str] = {
    **{
        name: f"{_DATASOURCES}.{name}.{kind}FileFormat"
        for name, kind in (("parquet", "Parquet"), ("orc", "Orc"), ("json", "Json"), ("csv", "CSV"), ("text", "Text"))
    },
    "avro": "org.apache.spark.sql.avro.AvroFileFormat",
}
_STREAMING = "org.apache.spark.sql.execution.streaming"
_LOG_VERSION = 1
_ROWS = "catchment rows"


@dataclass(frozen=True)
class Shape:
    """How rows are written to files."""

    format: str
    columns: tuple[str, ...]
    """The partition columns."""
    options: Mapping[str, str]


def fill(session: SparkSession, frame: DataFrame, stage: str, shape: Shape) -> tuple[FileChanges, int]:
    """Write the frame into a stage; returns its files and the number of rows."""
    counted = frame.observe(_ROWS, F.count(F.lit(1)).alias("rows"))
    query = counted._jdf.queryExecution()
    with tempfile.TemporaryDirectory() as log:
        _write(session, query, stage, shape, Path(log))
        rows = int(query.observedMetrics().apply(_ROWS).getLong(0))
        return FileChanges(staged_files(Path(log) / "0", stage)), rows


def staged_files(log: Path, stage: str) -> tuple[Addition, ...]:
    """The files in Spark's list; raises if two of them would be published under one name, since one would be lost."""
    found = tuple(_additions(log, stage))
    if twice := [path for path, files in Counter(each.path for each in found).items() if files > 1]:
        raise JobError(
            f"two files of {stage} would both be published as {twice[0]}",
            code="published-name-twice",
            hint="nothing was published: run the job again, and report this as a bug of Catchment if it happens again",
        )
    return found


def _write(session: SparkSession, query: Any, stage: str, shape: Shape, log: Path) -> None:
    jvm, spark = Jvm.of(session), session._jsparkSession
    scala, none = jvm("org.apache.spark.api.python.PythonUtils"), jvm("scala.Option").empty()
    columns = query.analyzed().output()
    protocol = jvm(f"{_STREAMING}.ManifestFileCommitProtocol")("0", stage)
    protocol.setupManifestOptions(_log(session, none, log), 0)
    options = scala.toScalaMap(dict(shape.options))
    place = jvm(f"{_DATASOURCES}.FileFormatWriter$OutputSpec")(stage, scala.toScalaMap({}), columns)
    jvm(f"{_DATASOURCES}.FileFormatWriter").write(
        spark,
        query.executedPlan(),
        jvm(FILE_FORMATS[shape.format])(),
        protocol,
        place,
        spark.sessionState().newHadoopConfWithOptions(options),
        scala.toSeq(_attributes(columns, shape.columns)),
        none,
        scala.toSeq([]),
        options,
        0,
    )


def _log(session: SparkSession, none: Any, log: Path) -> Any:
    """Spark's list of files, on the driver's disk; the ledger makes it durable."""
    moved = "sinks." if int(session.version.partition(".")[0]) >= 4 else ""
    return Jvm.of(session)(f"{_STREAMING}.{moved}FileStreamSinkLog")(
        _LOG_VERSION, session._jsparkSession, log.as_uri(), none
    )


def _attributes(output: Any, names: Sequence[str]) -> list[Any]:
    known = {str(output.apply(index).name()).lower(): output.apply(index) for index in range(output.length())}
    return [known[name.lower()] for name in names]


def _additions(log: Path, stage: str) -> Iterator[Addition]:
    below = f"/{stage.rpartition('/')[2]}/"
    for line in log.read_text().splitlines()[1:]:
        file = json.loads(line)
        staged = unquote(file["path"]).rpartition(below)[2]
        yield Addition(staged, published_name(staged, stage), file["size"])
