"""What is said of a Paimon table without an engine is what the engine says."""

from __future__ import annotations

import pytest

from catchment.formats.metadata_reading import NeedsEngine
from tests import both_ways
from tests.spark.inspecting import looked_at, refusal
from tests.spark.lake import LiveEngine, changing, paimon_table
from tests.spark.paimon.jobs import appending, keyed

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("depot", ["pond", "sea"])
def test_tables_and_snapshots(here: LiveEngine, fresh: str, depot: str) -> None:
    place = paimon_table(fresh, depot)
    for first in (0, 5, 10):
        here.run(appending(place, first), run=f"r-{first}")
    kept = looked_at(here, place, ("snapshots",), health=False)["snapshots"]["snapshots"]
    assert [each["run_id"] for each in kept] == ["r-0", "r-5", "r-10"]
    here.change(changing(place, "rollback", snapshot=kept[1]["snapshot_id"]))
    assert len(looked_at(here, place, ("snapshots",), health=False)["snapshots"]["snapshots"]) == 2
    assert refusal(here, paimon_table("nothing", depot), "snapshots") == "table-not-found"


def test_the_rest_is_left_to_an_engine(here: LiveEngine, fresh: str) -> None:
    place = paimon_table(fresh)
    here.run(keyed("SELECT 1 AS id", place))
    depot = next(each for each in here.plan.depots if each.name == place.depot)
    for what in ("table", "files"):
        with pytest.raises(NeedsEngine):
            both_ways.read(here.plan, what, depot, place)
