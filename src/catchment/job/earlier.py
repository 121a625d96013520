"""Detects inputs that have changed since an earlier attempt computed some of a job's outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark.sql import SparkSession

from catchment.formats.model import EarlierWrite, Source
from catchment.formats.registry import open_format
from catchment.job.story import Story
from catchment.plan.model import InputPlan, JobPlan

AT_LEAST_TWO = 2


def input_versions(spark: SparkSession, job: JobPlan) -> dict[str, str]:
    """The current versions of a job's inputs, if it has several outputs: an attempt may complete only some of them."""
    if len(job.writes) < AT_LEAST_TWO:
        return {}
    states = {source.name: _input_version(spark, source) for source in job.inputs}
    return {name: state for name, state in states.items() if state is not None}


def _input_version(spark: SparkSession, source: InputPlan) -> str | None:
    try:
        return open_format(source.dataset.format, Source).input_version(spark, source)
    except Exception:
        return None  # reading the input will report the problem


def warn_changed_inputs(
    story: Story, job: JobPlan, earlier: Mapping[str, EarlierWrite], now: Mapping[str, str]
) -> None:
    """Warn about inputs that have changed since the existing outputs were computed."""
    missing = ", ".join(output.name for output in job.writes if output.name not in earlier)
    for output, source, then in _changed_inputs(earlier, now) if missing else ():
        story.warn(
            f"input {source} has changed since output {output} was computed, from {then} to {now[source]}; "
            f"the missing outputs ({missing}) are computed from {now[source]}",
            code="inputs-moved",
            input=source,
            then=then,
            now=now[source],
        )


def _changed_inputs(earlier: Mapping[str, EarlierWrite], now: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    for output, write in earlier.items():
        for source, then in write.inputs.items():
            if now.get(source, then) != then:
                yield output, source, then
