"""One engine's way into directories of plain files: stage, seal, publish. Safe to repeat after a crash at any point."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from catchment.commit import faults
from catchment.commit.files import changes, filling
from catchment.commit.files.filling import Shape
from catchment.commit.files.stage import new_stage
from catchment.commit.model import NO_BRANCH, Base, Contents, Intent, Write, WriteMode
from catchment.commit.writer import Listener, Writer
from catchment.errors import EngineLost

NO_BASE = Base("", 0, 0, None)
"""Files have no states to begin from."""


@dataclass(frozen=True)
class FileOrder:
    """What a job asks for: these rows, into this directory, in this way."""

    write_id: str
    workflow: str
    target: str
    path: str
    mode: WriteMode
    shape: Shape
    inputs: Mapping[str, str] = field(default_factory=dict)
    """The states of the job's inputs, where a later attempt may ask for them."""


def write_files(writer: Writer, session: SparkSession, frame: DataFrame, order: FileOrder, listener: Listener) -> Write:
    """Write the frame once, however often this is called with the same write id."""
    publisher = writer.directory(order.target, listener)
    stage = new_stage(order.path, order.write_id)
    intent = Intent(
        *(order.write_id, order.workflow, order.target, NO_BRANCH, order.mode, "last-wins", writer.owner, stage),
        base=NO_BASE,
        inputs=order.inputs,
    )

    def fill() -> Contents:
        try:
            faults.point("before-data-written")
            found, rows = filling.fill(session, frame, stage, order.shape)
            faults.point("data-written")
        except BaseException:
            with suppress(Exception):  # what went wrong first is what counts
                publisher.destination.tidy([stage])  # on a disk that is full, the space is wanted back now
            raise
        return changes.contents(found, rows)

    try:
        writer.seal_once(intent, fill, listener)
    except EngineLost:
        publisher.destination.tidy([stage])  # superseded: whoever took over has a stage of its own
        raise
    return publisher.publish(order.write_id)
