"""Inputs that read an earlier state of a Paimon table, or what was added between two states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

import pytest

from catchment.errors import Position
from catchment.plan.model import Dataset, InputPlan
from tests.spark.lake import LiveEngine, changing, job, output, reading, step
from tests.spark.paimon.jobs import appending, snapshots

pytestmark = pytest.mark.slow

INPUT = Position("workflow.yaml", 12, 9)
GOOD = {
    "snapshot": ({"scan.snapshot-id": "2"}, 0, 10),
    "tag": ({"scan.tag-name": "two"}, 0, 10),
    "version": ({"scan.version": "two"}, 0, 10),
    "millis": ({"scan.timestamp-millis": "{2}"}, 0, 10),
    "time": ({"scan.timestamp": "{now}"}, 0, 15),
    "between": ({"incremental-between": "1,3"}, 5, 15),
    "first": ({"incremental-between": "0,1"}, 0, 5),
    "tags": ({"incremental-between": "one,two", "incremental-between-scan-mode": "delta"}, 5, 10),
    "times": ({"incremental-between-timestamp": "{1},{3}"}, 5, 15),
    "all": ({"incremental-between-timestamp": "5,{3}"}, 0, 15),
}
BAD = {
    "snapshot": ({"scan.snapshot-id": "9"}, "snapshot-not-found"),
    "tag": ({"scan.tag-name": "none"}, "tag-not-found"),
    "version": ({"scan.version": "none"}, "tag-not-found"),
    "too early": ({"scan.timestamp-millis": "5"}, "snapshot-not-found"),
    "too early a day": ({"scan.timestamp": "2001-01-01"}, "snapshot-not-found"),
    "between": ({"incremental-between": "1,9"}, "snapshot-not-found"),
    "tags": ({"incremental-between": "one,none"}, "tag-not-found"),
    "changelog": (
        {"incremental-between": "1,3", "incremental-between-scan-mode": "changelog"},
        "unsupported-option",
    ),
}


def fill(engine: LiveEngine, target: Dataset) -> dict[str, str]:
    """Three snapshots of five rows, tags for two of them, and the times at which they were made."""
    for first in (0, 5, 10):
        engine.run(appending(target, first))
    for name, number in (("one", "1"), ("two", "2")):
        engine.change(changing(target, "tag_create", tag=name, snapshot=number))
    found = [datetime.fromisoformat(each["committed_at"]) for each in snapshots(engine, target)]
    times = {str(number): str(round(1000 * each.timestamp())) for number, each in enumerate(found, start=1)}
    return {**times, "now": "2999-01-01 00:00:00"}


def choosing(name: str, target: Dataset, options: Mapping[str, str], times: Mapping[str, str]) -> InputPlan:
    filled = {key: value.format(*["", *times.values()], **times) for key, value in options.items()}
    return replace(reading(name, target, **filled), where=INPUT)


def test_what_an_input_chooses_of_the_history(here: LiveEngine, target: Dataset, fresh: str) -> None:
    times = fill(here, target)
    inputs = [choosing(name, target, options, times) for name, (options, *_) in GOOD.items()]
    sql = " UNION ALL ".join(f"SELECT '{name}' AS name, id FROM `{name}`" for name in GOOD)
    copy = replace(target, address=f"{target.address}-copy", table=f"{fresh}copy")
    here.run(job(output("rows", copy, mode="overwrite"), inputs=inputs, steps=[step("rows", sql)]))
    found = here.rows(f"SELECT name, id FROM {copy.identifier} ORDER BY id")
    for name, (_, first, last) in GOOD.items():
        assert [id for whose, id in found if whose == name] == list(range(first, last)), name


def test_what_is_not_in_the_history_is_refused_at_the_input(here: LiveEngine, target: Dataset, fresh: str) -> None:
    times = fill(here, target)
    copy = replace(target, address=f"{target.address}-copy", table=f"{fresh}copy")
    for name, (options, code) in BAD.items():
        source = choosing("rows", target, options, times)
        refused = here.fail(job(output("rows", copy, mode="overwrite"), inputs=[source]))
        assert (refused.code, refused.where, bool(refused.hint)) == (code, INPUT, True), name
    assert str(copy.table) not in str(here.inspect("tables", target))
