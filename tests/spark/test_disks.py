"""Disks that are full or may not be written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from catchment.project.model import Depot
from tests.disks import mounting
from tests.spark.hosts import Host
from tests.spark.lake import LiveEngine, engine_plan, files, lake_depot, table, writing

NOISE = "SELECT id, uuid() AS a, uuid() AS b, uuid() AS c FROM range(0, 300000, 1, 2)"


@pytest.fixture(scope="module")
def mount(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, str], Path]]:
    """Mount small file systems; they vanish with the module."""
    with mounting() as at:
        yield lambda name, options: at(tmp_path_factory.mktemp(name), options)


@pytest.fixture(scope="module")
def bad_depots(tmp_path_factory: pytest.TempPathFactory, mount: Callable[[str, str], Path]) -> dict[str, Depot]:
    """Depots whose catalogs are fine and whose tables lie on bad disks."""
    root = tmp_path_factory.mktemp("catalogs")
    places = {"small": mount("small", "size=4m"), "locked": mount("locked", "ro")}
    return {name: replace(lake_depot(root, name), location=str(place)) for name, place in places.items()}


@pytest.fixture(scope="module")
def damaged(
    elsewhere: Host, tmp_path_factory: pytest.TempPathFactory, bad_depots: dict[str, Depot]
) -> Iterator[LiveEngine]:
    live = elsewhere.guest(engine_plan(*bad_depots.values()), tmp_path_factory.mktemp("logs"))
    yield live
    live.process.stop(grace=5)


@pytest.mark.slow
def test_a_full_disk(damaged: LiveEngine, bad_depots: dict[str, Depot]) -> None:
    damaged.run(writing("SELECT 0L AS id, 'a' AS a, 'b' AS b, 'c' AS c", table("t", "small"), mode="append"))
    failed = damaged.fail(writing(NOISE, table("t", "small"), mode="append"))
    assert (failed.code, failed.retryable) == ("disk-full", False)
    assert f"of 4 MiB are free at {bad_depots['small'].location}" in failed.message
    assert damaged.value("SELECT count(*) FROM small.raw.t") == 1


def test_a_full_disk_for_files(damaged: LiveEngine, mount: Callable[[str, str], Path]) -> None:
    """What is there stays, and the space of the stage is given back."""
    place = mount("tiny", "size=4m") / "csv"
    damaged.run(writing("SELECT 0L AS id, 'a' AS a, 'b' AS b, 'c' AS c", files(place, "csv")))
    assert damaged.fail(writing(NOISE, files(place, "csv"), mode="overwrite")).code == "disk-full"
    assert damaged.rows(f"SELECT * FROM csv.`{place}`") == [("id", "a", "b", "c"), ("0", "a", "b", "c")]
    assert list(place.parent.glob(".catchment-stage/.csv/*")) == []


def test_a_place_that_may_not_be_written(damaged: LiveEngine) -> None:
    failed = damaged.fail(writing("SELECT 1 AS id", table("t", "locked")))
    assert (failed.code, failed.retryable) == ("no-permission", False)


def test_files_that_may_not_be_written(damaged: LiveEngine, bad_depots: dict[str, Depot]) -> None:
    place = Path(bad_depots["locked"].location) / "csv"
    assert damaged.fail(writing("SELECT 1 AS id", files(place, "csv"))).code == "no-permission"
