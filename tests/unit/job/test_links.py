from __future__ import annotations

from pathlib import Path

import pytest

from catchment.errors import JobError, Position
from catchment.job.links import check_links
from catchment.plan.model import Dataset
from catchment.project.model import Depot

HERE = Position("flow.yaml", 3, 5)


@pytest.fixture
def depot(tmp_path: Path) -> Depot:
    (tmp_path / "drop" / "trips" / "day=1").mkdir(parents=True)
    (tmp_path / "drop" / "trips" / "day=1" / "a.json").write_text("{}")
    (tmp_path / "drop" / "other").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.json").write_text("{}")
    return Depot("drop", "files", str(tmp_path / "drop"))


def check(depot: Depot, path: str) -> None:
    check_links(Dataset(f"dataos://drop:none/{path}", "drop", "json", path=f"{depot.location}/{path}"), [depot], HERE)


@pytest.mark.parametrize("path", ["trips", "trips/day=*", "tr*/*", "trips/day=1"])
def test_a_link_that_leads_out_is_refused(depot: Depot, path: str) -> None:
    check(depot, path)
    link = Path(depot.location, "trips", "day=1", "b.json")
    link.symlink_to("../../../outside/secret.json")
    with pytest.raises(JobError) as caught:
        check(depot, path)
    assert (caught.value.code, caught.value.where) == ("address-escapes-depot", HERE)
    assert str(link) in caught.value.message


def test_a_directory_that_leads_out_is_refused_also_behind_a_link(depot: Depot, tmp_path: Path) -> None:
    Path(depot.location, "other", "out").symlink_to(tmp_path / "outside")
    check(depot, "trips")
    Path(depot.location, "trips", "day=2").symlink_to("../other")
    with pytest.raises(JobError):
        check(depot, "trips")


def test_links_inside_the_depot_are_followed(depot: Depot) -> None:
    Path(depot.location, "trips", "day=2").symlink_to("../other")
    Path(depot.location, "other", "back").symlink_to("../trips")
    Path(depot.location, "other", "loop").symlink_to("loop")
    check(depot, "trips")


def test_what_is_not_there_or_elsewhere_is_not_looked_at(depot: Depot) -> None:
    check(depot, "nowhere")
    check(depot, "trips/day=1/a.json")
    check_links(Dataset("dataos://far:none/x", "far", "json", path="s3a://bucket/x"), [depot], HERE)
