"""Jobs that read streams, and the rows that arrive for them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from catchment.plan.model import Dataset, InputPlan, JobPlan, OutputPlan, StreamPlan
from tests.spark.lake import HERE, Pending, files, job, output, reading, step, table

LONG_AGO = 1_700_000_000


def arriving(root: Path, name: str, **options: str) -> InputPlan:
    """A directory into which files arrive, as a stream."""
    place = root / "drop" / f"{name}_arriving"
    place.mkdir(parents=True, exist_ok=True)
    source = reading("source", files(place, "json"), **options)
    return replace(source, schema="id BIGINT, day STRING", stream=True)


def arrive(root: Path, name: str, ids: Iterable[int], day: str = "d1") -> None:
    """A file arrives whole, as files have to."""
    place = root / "drop" / f"{name}_arriving"
    numbers = list(ids)
    lines = [json.dumps({"id": number, "day": day}) for number in numbers]
    unfinished = place / f".{numbers[0]}.new"
    unfinished.write_text("\n".join(lines) + "\n")
    # Spark takes the oldest first, and these may be made within one tick of the clock.
    os.utime(unfinished, times=(LONG_AGO + numbers[0], LONG_AGO + numbers[0]))
    unfinished.rename(place / f"{numbers[0]:06}.json")


def following(dataset: Dataset, **options: str) -> InputPlan:
    """A table as a stream."""
    return replace(reading("source", dataset, **options), stream=True)


def streaming(
    root: Path,
    name: str,
    source: InputPlan,
    *outputs: OutputPlan,
    sql: str = "select id, day from source",
    steps: Sequence[Any] = (),
    **stream: Any,
) -> JobPlan:
    """A job that writes what arrives to the table of its name, or to these outputs."""
    plan = StreamPlan(str(root / "checkpoints" / name), where=HERE, **{"trigger": "available-now", **stream})
    written = outputs or (output("rows", table(name), mode="append"),)
    return job(*written, inputs=[source], steps=[step("rows", sql), *steps], name=name, stream=plan)


def told(pending: Pending, event: str) -> list[Any]:
    return [note.data for note in pending.notes if note.event == event]
