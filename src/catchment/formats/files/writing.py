"""Writes plain files: stage, seal, publish. Safe to repeat after a crash at any point."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from catchment.commit import faults
from catchment.commit.listener import Listener
from catchment.commit.publisher import Publisher
from catchment.commit.writer import Writer
from catchment.errors import EngineLost
from catchment.formats.files import filling, journal
from catchment.formats.files.filling import Shape
from catchment.formats.files.hadoop import storage_of
from catchment.formats.files.publishing import Directory
from catchment.formats.files.receipts import Record, begun_before
from catchment.formats.files.stage import new_stage
from catchment.formats.model import Write
from catchment.plan.model import Dataset
from catchment.store.writes import NO_BRANCH, Base, Contents, Entry, Intent

NO_BASE = Base("", 0, 0, None)
"""Files have no versions, so their writes have no base."""


def publisher_of(writer: Writer, dataset: Dataset) -> Publisher[Directory]:
    """The publisher of the sealed writes of a dataset."""
    return writer.publisher(dataset.target, partial(_directory, writer))


def write_files(
    writer: Writer, session: SparkSession, frame: DataFrame, write: Write, shape: Shape, listener: Listener
) -> Entry:
    """Write the frame; calls with the same write id write it only once."""
    dataset = write.output.dataset
    publisher = admitted(writer, dataset, listener)
    stage = new_stage(str(dataset.path), write.id)
    begun = _begun_before(writer, write, stage)
    stage = begun.stage if begun else stage
    intent = _intent(write, shape, writer.owner, stage)

    def fill() -> Contents:
        if begun:
            listener.warn(
                f"{write.id} was published before, and the metastore does not know it; it is not written again"
            )
            return begun.contents
        faults.point("before-data-written")
        found, rows = filling.fill(session, frame, stage, shape)
        faults.point("data-written")
        return journal.contents(found, rows)

    return seal_and_publish(writer, publisher, intent, fill, listener)


def admitted(writer: Writer, dataset: Dataset, listener: Listener) -> Publisher[Directory]:
    """The publisher of a dataset, once it is this engine's turn to write there."""
    return writer.admitted(dataset.target, partial(_directory, writer), listener)


def seal_and_publish(
    writer: Writer, publisher: Publisher[Directory], intent: Intent, fill: Callable[[], Contents], listener: Listener
) -> Entry:
    """Fill the stage of a write, seal and publish it; steps that were done before are skipped."""

    def fill_or_tidy() -> Contents:
        try:
            return fill()
        except BaseException:
            with suppress(Exception):  # the first error is the one to report
                publisher.destination.tidy([intent.buffer])  # the disk may be full, so free the space now
            raise

    try:
        writer.seal_once(intent, fill_or_tidy, listener)
    except EngineLost:
        publisher.destination.tidy([intent.buffer])  # another engine has taken over with a stage of its own
        raise
    return publisher.publish(intent.write_id, listener.warn)


def _begun_before(writer: Writer, write: Write, stage: str) -> Record | None:
    """The dataset's own record of a write that the ledger does not know, or knows as never sealed."""
    if writer.earlier(write.id, write.output.dataset.target) is not None:
        return None
    return begun_before(storage_of(writer.session, str(write.output.dataset.path)), stage, write.id)


def _intent(write: Write, shape: Shape, owner: str, stage: str) -> Intent:
    output = write.output
    # Without partitions, an overwrite replaces everything.
    mode = "overwrite" if output.mode == "overwrite-partitions" and not shape.columns else output.mode
    return Intent(
        *(write.id, write.workflow, output.dataset.target, NO_BRANCH, mode, "last-wins", owner, stage),
        base=NO_BASE,
        dataset=asdict(output.dataset),
        inputs=write.inputs,
        window=write.window,
    )


def _directory(writer: Writer) -> Directory:
    return Directory(partial(storage_of, writer.session), writer.ledger)
