"""Filling a stage: Spark's own writers put files into it directly, and say which of them count.

`DataFrameWriter` would first write elsewhere and then rename, file after file, which on an object store takes longer
than the writing. The commit protocol of Spark's streaming file sink writes where it is told and keeps a list of the
files of successful tasks. Nobody sees the stage, so nothing more is needed; what failed tasks leave is not in the list.
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
from catchment.formats.files.journal import Addition, Changes
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
    """How rows become files."""

    format: str
    columns: tuple[str, ...]
    """The partition columns."""
    options: Mapping[str, str]


def fill(session: SparkSession, frame: DataFrame, stage: str, shape: Shape) -> tuple[Changes, int]:
    """Write the frame into a stage; what is in it then, and its rows."""
    counted = frame.observe(_ROWS, F.count(F.lit(1)).alias("rows"))
    query = counted._jdf.queryExecution()
    with tempfile.TemporaryDirectory() as log:
        _write(session, query, stage, shape, Path(log))
        rows = int(query.observedMetrics().apply(_ROWS).getLong(0))
        return Changes(staged_files(Path(log) / "0", stage)), rows


def staged_files(log: Path, stage: str) -> tuple[Addition, ...]:
    """The files in Spark's list; raises where two of them would get one name, and one of them would be lost."""
    found = tuple(_additions(log, stage))
    if twice := [path for path, files in Counter(each.path for each in found).items() if files > 1]:
        raise JobError(
            f"two files of {stage} would both be published as {twice[0]}",
            code="published-name-twice",
            hint="nothing was published: run the job again, and report this as a fault of Catchment if it comes back",
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
    """The list of files, on the driver's own disk: the ledger is where it becomes durable."""
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
