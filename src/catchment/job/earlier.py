"""What earlier attempts at a job have left: outputs that are not computed again, and inputs that moved meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark.sql import SparkSession

from catchment.formats.model import EarlierWrite, Source
from catchment.formats.registry import open_format
from catchment.job.story import Story
from catchment.plan.model import InputPlan, JobPlan

SEVERAL = 2


def input_states(spark: SparkSession, job: JobPlan) -> dict[str, str]:
    """The states of the inputs now, of a job that may come to an end with some of its outputs only."""
    if len(job.writes) < SEVERAL:
        return {}
    states = {source.name: _state(spark, source) for source in job.inputs}
    return {name: state for name, state in states.items() if state is not None}


def _state(spark: SparkSession, source: InputPlan) -> str | None:
    try:
        return open_format(source.dataset.format, Source).input_version(spark, source)
    except Exception:
        return None  # what is wrong with the input is told by whoever reads it next


def tell_moved(story: Story, job: JobPlan, earlier: Mapping[str, EarlierWrite], now: Mapping[str, str]) -> None:
    """Say which inputs are no longer as they were when the outputs that are there were computed."""
    missing = ", ".join(output.name for output in job.writes if output.name not in earlier)
    for output, source, then in _moved(earlier, now) if missing else ():
        story.warn(
            f"input {source} has moved since output {output} was computed, from {then} to {now[source]}; "
            f"what is missing ({missing}) is computed from {now[source]}",
            code="inputs-moved",
            input=source,
            then=then,
            now=now[source],
        )


def _moved(earlier: Mapping[str, EarlierWrite], now: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    for output, write in earlier.items():
        for source, then in write.inputs.items():
            if now.get(source, then) != then:
                yield output, source, then
