"""Paimon's catalogs in a session, each of which is opened once."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import MutableMapping
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession

from catchment.formats.paimon.java import commits
from catchment.formats.spark_catalogs import open_patiently
from catchment.jvm.causes import JVM_ERRORS
from catchment.jvm.classes import Jvm
from catchment.plan.model import Dataset

_opened: MutableMapping[SparkSession, dict[str, Any]] = WeakKeyDictionary()
_opening: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


def open_catalog(spark: SparkSession, depot: str) -> Any:
    """The org.apache.paimon.catalog.Catalog of a depot."""
    # One thread at a time: until it has reconnected, a catalog may not see what others have created.
    with _opening[depot]:
        known = _opened.setdefault(spark, {})
        if depot not in known:
            known[depot] = open_patiently(lambda: _open(spark, depot), "java.sql.SQLException")
        return known[depot]


def _open(spark: SparkSession, depot: str) -> Any:
    catalog = spark._jsparkSession.sessionState().catalogManager().catalog(depot).paimonCatalog()
    commits(spark).reconnect(catalog)
    return catalog


def ensure_database(catalog: Any, name: str | None) -> None:
    """Create a database, unless it exists."""
    try:
        catalog.createDatabase(name, True)  # noqa: FBT003
    except JVM_ERRORS:
        # Two jobs may create it at the same time. The error of the second one depends on the catalog, so check again.
        if not catalog.databaseExists(name):
            raise


def identifier(spark: SparkSession, dataset: Dataset) -> Any:
    """The table's identifier in Paimon."""
    return Jvm.of(spark)("org.apache.paimon.catalog.Identifier").create(dataset.namespace, dataset.table)
