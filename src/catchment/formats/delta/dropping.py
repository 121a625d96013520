"""Drops a Delta table: its name, if a catalog has one, and its directory, which is the table."""

from __future__ import annotations

import re

from pyspark.sql import SparkSession

from catchment.commit.leases import table_lease
from catchment.commit.listener import Listener
from catchment.commit.spark_progress import spark_progress
from catchment.commit.writer import Writer
from catchment.errors import JobError
from catchment.formats.delta.catalog import located, name_of, named_places
from catchment.formats.delta.inspection import tables_by_path
from catchment.formats.delta.log import require_head
from catchment.formats.store_files import S3_SCHEMES
from catchment.formats.table_drops import Droppable
from catchment.jvm.classes import Jvm
from catchment.plan.model import Dataset

_LOCATION = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/]*))?(.*)", re.DOTALL)


def droppable(spark: SparkSession, dataset: Dataset) -> Droppable:
    """The table that a drop would remove; raises if its directory may be more than the table."""
    here = located(spark, dataset)
    head = require_head(spark, here)
    if dataset.named:
        _require_own_directory(spark, dataset, str(here.path))
    return Droppable(f"{head.id}@{here.path}", head.id)


def drop(spark: SparkSession, dataset: Dataset, writer: Writer, listener: Listener) -> None:
    """Drop the table under its lease, so that nobody commits to it meanwhile."""
    here = located(spark, dataset)
    require_head(spark, here)
    jvm = Jvm.of(spark)
    place = jvm("org.apache.hadoop.fs.Path")(here.path)
    with table_lease(writer.store, str(here.path), writer.owner, listener, spark_progress(spark)):
        if here.named:
            spark.sql(f"DROP TABLE IF EXISTS {name_of(here)}")
        files = place.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
        files.delete(place, True)  # noqa: FBT003
        jvm("org.apache.spark.sql.delta.DeltaLog").invalidateCache(spark._jsparkSession, place)


def _require_own_directory(spark: SparkSession, dataset: Dataset, place: str) -> None:
    """Raise if the directory of a named table is not inside its depot, or is also that of other tables.

    Anybody may register any directory under a name, and a drop removes the directory with everything in it.
    """
    depot = str(dataset.path).rsplit("/", 2)[0]
    default = _default_store(spark)
    root, where = completed(depot, default), completed(place, default)
    if not where.startswith(f"{root}/"):
        raise JobError(
            f"the catalog has the table at {place}, which is outside of its depot ({depot})",
            code="location-not-own",
            hint="remove the name with `catchment query --write` and DROP TABLE, the files with the tools of the store",
        )
    below = {f"{space}/{name}" for space, name in tables_by_path(spark, depot)}
    inside = {each for each in below if each.startswith(f"{where.removeprefix(f'{root}/')}/")}
    if others := sorted(inside | _names_in(spark, dataset, where, default)):
        raise JobError(
            f"the directory of the table, {place}, is also that of {', '.join(others[:3])}",
            code="location-not-own",
            hint="drop those first, or remove only the name with `catchment query --write` and DROP TABLE",
        )


def _names_in(spark: SparkSession, dataset: Dataset, place: str, default: str) -> set[str]:
    """The other names in the catalog that lead to a directory, or into it, however they spell it."""
    own = (str(dataset.namespace).lower(), str(dataset.table).lower())  # as a Hive metastore stores them
    others = ((space, name, where) for space, name, where in named_places(spark) if (space, name) != own)
    return {
        f"{space}/{name}" for space, name, where in others if f"{completed(where, default)}/".startswith(f"{place}/")
    }


def _default_store(spark: SparkSession) -> str:
    """The store of locations that name none, by Hadoop's settings."""
    settings = spark._jsparkSession.sessionState().newHadoopConf()
    return str(Jvm.of(spark)("org.apache.hadoop.fs.FileSystem").getDefaultUri(settings).toString())


def completed(location: str, default: str) -> str:
    """A location with its scheme and server, which Hadoop takes from the default store; S3 has only one scheme.

    This asks no store: a catalog also has names of stores that this engine cannot reach.
    """
    scheme, server, path = _parts(location)
    default_scheme, default_server, _ = _parts(default)
    scheme = scheme or default_scheme
    server = server or (default_server if scheme == default_scheme else "")
    return f"{scheme}://{server}{re.sub('/+', '/', path).rstrip('/')}"


def _parts(location: str) -> tuple[str, str, str]:
    found = _LOCATION.fullmatch(location)
    scheme, server, path = found.groups(default="") if found else ("", "", location)
    return "s3a" if scheme in S3_SCHEMES else scheme, server, path
