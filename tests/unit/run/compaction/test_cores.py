from __future__ import annotations

from pathlib import Path

import pytest

from catchment.errors import Position, RequestError
from catchment.project.model import Depot, Engine, Project, Upkeep
from catchment.run.compaction.cores import with_cores

WHERE = Position("catchment.yaml", 2, 3)


def project(tmp_path: Path, *engines: Engine, holding: str = "iceberg", **maintain: Upkeep) -> Project:
    found = {"lake": Depot("lake", holding, str(tmp_path / "lake"))}
    file = tmp_path / "catchment.yaml"
    return Project(tmp_path, file, "sqlite://", found, {each.name: each for each in engines}, maintain=maintain)


def test_cores_limit_every_engine(tmp_path: Path) -> None:
    said = project(tmp_path, Engine("default"), Engine("far", master="spark://host:7077"))
    limited = with_cores(said, 2).engines
    assert limited["default"].master == "local[2]"
    assert limited["far"].conf["spark.cores.max"] == "2"


@pytest.mark.parametrize("master", ["yarn", "k8s://https://host:6443"])
def test_cores_are_refused_where_the_cluster_does_not_know_such_a_limit(tmp_path: Path, master: str) -> None:
    far = Engine("default", master=master, where=WHERE)
    for said in (
        project(tmp_path, far),
        project(tmp_path, far, holding="files", **{"dataos://lake:none/a": Upkeep()}),
    ):
        with pytest.raises(RequestError) as refused:
            with_cores(said, 2)
        assert (refused.value.code, refused.value.where) == ("option-without-effect", WHERE)


def test_an_engine_that_no_table_needs_does_not_keep_the_others_from_being_limited(tmp_path: Path) -> None:
    said = project(tmp_path, Engine("default"), Engine("far", master="yarn"))
    assert with_cores(said, 2).engines["default"].master == "local[2]"
    files = project(tmp_path, Engine("default", master="yarn"), holding="files", lake=Upkeep())
    assert with_cores(files, 2).engines  # nothing of it is maintained
