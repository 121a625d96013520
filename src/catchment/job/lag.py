"""How far a stream is behind what it reads, from Spark's report on a batch."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from catchment.formats.model import CountsCommits
from catchment.formats.registry import find_format
from catchment.job.story import Story
from catchment.plan.model import InputPlan

MOST_OF_THE_TIME = 0.05
"""The share of a stream's time that looking at its tables may take."""


@dataclass
class LagMeter:
    """Measures how far the streams of one job are behind.

    Kafka tells Spark itself; of several topics, the one that is furthest behind counts. The commits of a table that are
    still to be read are counted here: with every report, or less often if the store is slow.
    """

    spark: SparkSession
    inputs: Sequence[InputPlan]
    story: Story
    _rests_until: float = 0.0

    def read(self, progress: Mapping[str, Any]) -> dict[str, Any]:
        """What is still to be read, by the name of the figure."""
        sources = progress["sources"]
        told: dict[str, Any] = {}
        for name, value in (each for source in sources for each in (source.get("metrics") or {}).items()):
            told[name] = max(told.get(name, value), value, key=_number)
        behind = self._commits([source["endOffset"] for source in sources if isinstance(source.get("endOffset"), dict)])
        return told if behind is None else {**told, "commitsBehindLatest": behind}

    def _commits(self, offsets: Sequence[Mapping[str, Any]]) -> int | None:
        """The commits of the table that is furthest ahead; None if there is no table, or if a look costs too much."""
        began = time.monotonic()
        if began < self._rests_until:
            return None
        try:
            found = [self._behind(source, offset) for source in self.inputs for offset in offsets]
        except Exception as error:  # a stream does not end because its lag is unknown
            self.story.log.info("the lag is unknown: %s", error)
            found = []
        now = time.monotonic()
        self._rests_until = now + (now - began) / MOST_OF_THE_TIME
        return max((each for each in found if each is not None), default=None)

    def _behind(self, source: InputPlan, offset: Mapping[str, Any]) -> int | None:
        format = find_format(source.dataset.format, CountsCommits)
        return format.commits_after(self.spark, source, offset) if format else None


def _number(figure: Any) -> float:
    try:
        return float(figure)
    except (TypeError, ValueError):
        return -math.inf  # a source may tell what is no number
