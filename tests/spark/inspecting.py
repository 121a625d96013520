"""Looks at tables with an engine and without one, and compares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from catchment.errors import JobError
from catchment.plan.model import Dataset
from tests import both_ways
from tests.spark.lake import LiveEngine

EVERYTHING = ("table", "snapshots", "files", "versions", "metadata")


def looked_at(
    engine: LiveEngine, place: Dataset, questions: tuple[str, ...], *, health: bool = True
) -> Mapping[str, Any]:
    """The answers without the engine, which are those of the engine; none of them is left to it."""
    depot = next(each for each in engine.plan.depots if each.name == place.depot)
    found = {what: both_ways.read(engine.plan, what, depot, place) for what in questions}
    assert both_ways.text(found) == both_ways.text({what: engine.asked_alone(what, place) for what in questions})
    listed = both_ways.read(engine.plan, "tables", depot, None)
    assert both_ways.text(listed) == both_ways.text(engine.asked_alone("tables", place))
    assert place.address in [each["address"] for each in listed["tables"]]
    for limit in (None, 1500) if health else ():
        found_health = engine.health(place, limit)
        assert both_ways.read_health(engine.plan, place, limit) == found_health
        assert both_ways.read_head(engine.plan, place) == found_health.head
    return found


def refusal(engine: LiveEngine, place: Dataset, what: str = "table") -> str:
    """The code with which a table is refused, both ways."""
    depot = next(each for each in engine.plan.depots if each.name == place.depot)
    with pytest.raises(JobError) as caught:
        both_ways.read(engine.plan, what, depot, place)
    refused = engine.refused_inspection(what, place)
    assert (refused.code, refused.message, refused.hint) == (
        *(caught.value.code, caught.value.message, caught.value.hint),
    )
    return caught.value.code
