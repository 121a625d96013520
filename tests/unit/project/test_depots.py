from __future__ import annotations

from pathlib import Path

import pytest

from catchment.project import depots
from catchment.project.address import AddressEscapes
from catchment.project.depots import UnknownDepot
from catchment.project.model import Catalog, Depot, Engine, Project


def project(root: Path, *names: str, file: bool = True) -> Project:
    known = {name: Depot(name, "files", str(root / name)) for name in names}
    return Project(
        root, root / "catchment.yaml" if file else None, "sqlite:///x", known, {"default": Engine("default")}
    )


def test_an_unconfigured_depot_is_embedded_without_a_project_file(tmp_path: Path) -> None:
    depot = depots.find(project(tmp_path, file=False), "raw")
    home = tmp_path / ".catchment" / "depots" / "raw"
    assert (depot.kind, depot.location) == ("embedded", str(home))
    assert (depot.warehouse, depot.files) == (str(home / "tables"), str(home / "files"))
    assert depot.catalog == Catalog("jdbc", database=str(home / "catalog.db"))
    assert depot.publish == "raw_published"


def test_a_published_catalog_is_no_depot(tmp_path: Path) -> None:
    with pytest.raises(UnknownDepot) as caught:
        depots.find(project(tmp_path, file=False), "raw_published")
    assert "`raw`" in str(caught.value.hint)


def test_an_unknown_depot_of_a_project_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownDepot) as caught:
        depots.find(project(tmp_path, "lakehouse"), "lakehuose")
    assert caught.value.code == "unknown-depot"
    assert caught.value.hint == "did you mean `lakehouse`?"
    with pytest.raises(UnknownDepot) as caught:
        depots.find(project(tmp_path), "lakehouse")
    assert caught.value.hint == "add it to `depots` in catchment.yaml"


def test_the_two_names_of_the_lake_mean_one_depot(tmp_path: Path) -> None:
    assert depots.find(project(tmp_path, "lakehouse"), "icebase").name == "lakehouse"
    assert depots.find(project(tmp_path, "icebase"), "lakehouse").name == "icebase"
    assert depots.find(project(tmp_path, "icebase", "lakehouse"), "icebase").name == "icebase"


def test_embedded_depots_on_disk_are_found_again(tmp_path: Path) -> None:
    for name in ("b", "a", "lakehouse", "empty", "no.name"):
        home = tmp_path / ".catchment" / "depots" / name
        home.mkdir(parents=True)
        if name != "empty":
            (home / "catalog.db").touch()
    found = depots.embedded_on_disk(project(tmp_path, "lakehouse"))
    assert [depot.name for depot in found] == ["a", "b"]


def test_a_place_inside_a_depot(tmp_path: Path) -> None:
    local = Depot("d", "files", str(tmp_path))
    assert depots.place(local, ["dir", "file.json"]) == str(tmp_path.resolve() / "dir" / "file.json")
    remote = Depot("d", "files", "s3a://bucket/base/")
    assert depots.place(remote, ["dir", "file.json"]) == "s3a://bucket/base/dir/file.json"


def test_a_symbolic_link_may_not_lead_out(tmp_path: Path) -> None:
    depot = tmp_path / "depot"
    (depot / "real").mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    (depot / "inside").symlink_to(depot / "real")
    (depot / "outside").symlink_to(tmp_path / "secret")
    (depot / "loop").symlink_to(depot / "loop")
    (depot / "itself").symlink_to(depot)
    found = Depot("d", "files", str(depot))
    assert depots.place(found, ["inside", "x"]) == str(depot.resolve() / "real" / "x")
    assert depots.place(found, ["loop"]) == str(depot.resolve() / "loop")
    for name in ("outside", "outside/x", "itself"):
        with pytest.raises(AddressEscapes):
            depots.place(found, name.split("/"))


def test_a_depot_may_itself_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert depots.place(Depot("d", "files", str(tmp_path / "link")), ["x"]) == str(tmp_path.resolve() / "real" / "x")
