"""Answers inspection and recovery commands with the format of each dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pyspark.sql import SparkSession

from catchment.commit.recovery import Recovered
from catchment.commit.writer import Writer
from catchment.engine.protocol import Inspect, Recover
from catchment.errors import CatchmentError
from catchment.formats.failures import from_spark
from catchment.formats.model import Facts, Inspects, Recovers
from catchment.formats.registry import open_all, open_format
from catchment.plan.model import Dataset

NOTHING = Recovered((), (), (), (), ())


def inspect(spark: SparkSession, question: Inspect) -> Facts:
    """Answer one question about a depot or a table."""
    try:
        if question.dataset is None:
            formats = open_all({question.depot.kind}, Inspects)
            return {"tables": [table for format in formats for table in format.tables(spark, question.depot)]}
        inspects = open_format(question.dataset.format, Inspects)
        return inspects.inspect(spark, question.what, question.dataset, question.depot.publish)
    except Exception as error:
        raise from_spark(error, otherwise="inspection-failed") from error


def recover_tables(spark: SparkSession, command: Recover, writer: Writer) -> Mapping[str, Any]:
    """Recover datasets one after the other; an error in one does not stop the others."""
    return {"tables": [_recover(spark, table, writer, remove=command.remove) for table in command.tables]}


def _recover(spark: SparkSession, dataset: Dataset, writer: Writer, *, remove: bool) -> Mapping[str, Any]:
    done, problem = NOTHING, None
    try:
        done = open_format(dataset.format, Recovers).recover(spark, dataset, writer, remove=remove)
    except Exception as error:
        problem = _error_facts(from_spark(error, otherwise="recovery-failed"))
    return {"table": dataset.address, **asdict(done), "error": problem}


def _error_facts(error: CatchmentError) -> Mapping[str, Any]:
    return {"code": error.code, "message": error.message, "hint": error.hint}
