"""How far streams are behind: what sources say themselves, and what is counted for them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import pytest

from catchment.errors import Position
from catchment.job import lag
from catchment.job.lag import LagMeter
from catchment.job.story import Story
from catchment.plan.model import Dataset, InputPlan

HERE = Position("workflow.yaml", 1, 1)


@dataclass
class Tables:
    """A format that knows how many commits each table has after any offset."""

    after: Mapping[str, int | None]
    asked: list[str] = field(default_factory=list)
    problem: Exception | None = None

    def commits_after(self, spark: Any, source: InputPlan, offset: Mapping[str, Any]) -> int | None:
        if self.problem:
            raise self.problem
        self.asked.append(source.name)
        return self.after[source.name]


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Tables:
    """Two tables; looking at them takes no time."""
    tables = Tables({"one": 3, "two": 7})
    monkeypatch.setattr(lag, "find_format", lambda name, _: tables if name == "iceberg" else None)
    return tables


def meter(*formats: str) -> LagMeter:
    inputs = [
        InputPlan(name, Dataset(f"dataos://d:c/{name}", "d", format, "c", name), HERE)
        for name, format in zip(("one", "two"), formats, strict=False)
    ]
    story = Story("a", logging.getLogger("test"), lambda _: None, Event())
    return LagMeter(None, inputs, story)


def progress(*sources: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"sources": sources}


def test_the_table_that_is_furthest_ahead_counts(tables: Tables) -> None:
    assert meter("iceberg", "iceberg").read(progress({"endOffset": {"at": 1}})) == {"commitsBehindLatest": 7}
    assert tables.asked == ["one", "two"]


def test_what_a_source_says_itself_stays(tables: Tables) -> None:
    told = {"metrics": {"maxOffsetsBehindLatest": "4"}, "endOffset": {"topic": {"0": 2}}}
    assert meter("kafka").read(progress(told)) == {"maxOffsetsBehindLatest": "4"}
    assert tables.asked == []


def test_of_several_topics_the_one_that_is_furthest_behind_counts(tables: Tables) -> None:
    told = [
        {"metrics": {"avgOffsetsBehindLatest": lag, "of": name}}
        for name, lag in (("a", "9.5"), ("b", "10"), ("c", "2"))
    ]
    assert meter("kafka", "kafka").read(progress(*told)) == {"avgOffsetsBehindLatest": "10", "of": "a"}


def test_an_offset_of_no_table_says_nothing(tables: Tables) -> None:
    tables.after = {"one": None}
    assert meter("iceberg").read(progress({"endOffset": {"at": 1}}, {"endOffset": None})) == {}


def test_a_lag_that_is_unknown_ends_no_stream(tables: Tables) -> None:
    tables.problem = RuntimeError("the store is away")
    assert meter("iceberg").read(progress({"endOffset": {"at": 1}})) == {}


def test_looking_takes_a_twentieth_of_the_time_at_most(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("catchment.job.lag.time.monotonic", lambda: now[0])
    of_one = meter("iceberg")
    slow = tables.commits_after

    def look(*arguments: Any) -> int | None:
        now[0] += 1.0
        return slow(*arguments)

    monkeypatch.setattr(tables, "commits_after", look)
    report = progress({"endOffset": {"at": 1}})
    assert of_one.read(report) == {"commitsBehindLatest": 3}
    now[0] += 19.0
    assert of_one.read(report) == {}
    now[0] += 1.0
    assert of_one.read(report) == {"commitsBehindLatest": 3}
