from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from catchment.errors import RequestError
from catchment.project.model import Catalog, Depot, Engine, Project
from catchment.run.compaction.adhoc_depot import with_warehouse
from catchment.run.compaction.compaction_job import dataset_of


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, None, f"sqlite:///{tmp_path / 'm.db'}", {}, {"default": Engine("default")})


def test_a_warehouse_becomes_a_depot_whose_name_is_always_the_same(project: Project, tmp_path: Path) -> None:
    conf = {
        "metastore": "jdbc",
        "uri": "jdbc:mysql://db/x",
        "jdbc.password": "tide-4711",
        "fs.s3a.endpoint": "http://x",
    }
    made, address = with_warehouse(project, str(tmp_path / "wh"), "shop", "orders", conf)
    [depot] = made.depots.values()
    assert depot.catalog == Catalog("jdbc", "jdbc:mysql://db/x", None, {"jdbc.password": "tide-4711"})
    assert (depot.location, depot.conf) == (str(tmp_path / "wh"), {"fs.s3a.endpoint": "http://x"})
    assert made.secrets == ("tide-4711",)
    assert dataset_of(made, address).table == "orders"
    again, same = with_warehouse(project, str(tmp_path / "wh"), "shop", "orders", {})
    assert same == address
    assert with_warehouse(again, str(tmp_path / "other"), "shop", "orders", {})[1] != address


def test_a_warehouse_that_is_a_depot_keeps_its_name(project: Project, tmp_path: Path) -> None:
    pond = Depot("pond", "paimon", str(tmp_path / "wh"), Catalog("filesystem"))
    known = replace(project, depots={"pond": pond})
    assert with_warehouse(known, str(tmp_path / "wh"), "shop", "orders", {}) == (known, "dataos://pond:shop/orders")
    with pytest.raises(RequestError) as refused:
        with_warehouse(known, str(tmp_path / "wh"), "shop", "orders", {"metastore": "hive"})
    assert refused.value.code == "option-without-effect"


@pytest.mark.parametrize("warehouse", ["s3://lake/wh", "s3n://lake/wh/", "s3a://lake/wh"])
def test_a_warehouse_on_s3_is_its_depot_however_its_scheme_is_written(project: Project, warehouse: str) -> None:
    known = replace(project, depots={"pond": Depot("pond", "paimon", "s3a://lake/wh", Catalog("filesystem"))})
    assert with_warehouse(known, warehouse, "shop", "orders", {}) == (known, "dataos://pond:shop/orders")
    assert with_warehouse(known, f"{warehouse}2", "shop", "orders", {})[1] != "dataos://pond:shop/orders"


@pytest.mark.parametrize(
    ("conf", "code"),
    [
        ({"metastore": "glue"}, "unsupported-catalog"),
        ({"metastore": "hive"}, "bad-catalog-uri"),
        ({"metastore": "hive", "uri": "http://x"}, "bad-catalog-uri"),
        ({"lock.enabled": "true"}, "lock-unsupported"),
    ],
)
def test_catalogs_that_cannot_be(project: Project, conf: dict[str, str], code: str) -> None:
    with pytest.raises(RequestError) as refused:
        with_warehouse(project, "/wh", "shop", "orders", conf)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("warehouse", "conf", "codes"),
    [
        ("/wh", {}, []),
        ("s3a://lake/wh", {}, ["unguarded-depot"]),
        ("s3a://lake/wh", {"metastore": "hive", "uri": "thrift://db:9083"}, []),
    ],
)
def test_a_warehouse_without_a_lock_is_warned_about(
    project: Project, warehouse: str, conf: dict[str, str], codes: list[str]
) -> None:
    made, _ = with_warehouse(project, warehouse, "shop", "orders", conf)
    assert [(found.code, found.is_error) for found in made.warnings] == [(code, False) for code in codes]
    assert all(warehouse in found.message for found in made.warnings)


def test_names_cannot_leave_the_warehouse(project: Project) -> None:
    with pytest.raises(RequestError):
        with_warehouse(project, "/wh", "..", "orders", {})
