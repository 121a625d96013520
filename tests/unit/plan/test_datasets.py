from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from catchment.errors import RequestError
from catchment.plan import datasets
from catchment.plan.model import Dataset
from catchment.project.model import Catalog, Depot, Engine, Project


def configured(root: Path) -> Project:
    lake = Depot("lakehouse", "iceberg", str(root / "lake"), Catalog("jdbc", database=str(root / "lake/catalog.db")))
    drop = Depot("drop", "files", str(root / "drop"))
    here = Depot("here", "files", str(root))
    deep = Depot("deep", "iceberg", str(root / "far" / "down"), Catalog("rest", "https://host"))
    events = Depot("events", "delta", str(root / "events"))
    depots = {depot.name: depot for depot in (lake, drop, here, deep, events)}
    return Project(root, root / "catchment.yaml", "", depots, {"default": Engine("default")})


def bare(root: Path) -> Project:
    return Project(root, None, "", {}, {"default": Engine("default")})


def test_files_have_one_address_and_are_known_by_their_place(tmp_path: Path) -> None:
    """However they are addressed, through whichever depot: one place, one queue."""
    root = tmp_path.resolve()
    project = configured(root)
    other = replace(project.depots["drop"], name="other")
    project = replace(project, depots={**project.depots, "other": other})
    spellings = ("dataos://drop:none/a/b?acl=rw", "dataos://drop:a/b?acl=rw", "lake://other:a/b?acl=rw")
    one, same, through = (datasets.of_output(text, "out", "json", project) for text in spellings)
    assert one == same
    assert (one.address, one.target) == ("dataos://drop:a/b", f"{root}/drop/a/b")
    assert (through.address, through.target) == ("dataos://other:a/b", one.target)
    named_none = datasets.of_output("dataos://drop:none/none/b?acl=rw", "out", "json", project)
    assert datasets.of_input(named_none.address, "json", project).path == f"{root}/drop/none/b"


def test_tables_are_known_by_their_address(tmp_path: Path) -> None:
    for text in ("dataos://lakehouse:raw/t?acl=rw", "dataos://events:raw/t?acl=rw"):
        found = datasets.of_output(text, "out", None, configured(tmp_path))
        assert found.target == found.address


def test_a_table(tmp_path: Path) -> None:
    found = datasets.of_input("dataos://lakehouse:raw01/ny_taxi_ts?acl=r", None, configured(tmp_path))
    address = "dataos://lakehouse:raw01/ny_taxi_ts"
    assert found == Dataset(address, "lakehouse", "iceberg", namespace="raw01", table="ny_taxi_ts")
    assert found.identifier == "`lakehouse`.`raw01`.`ny_taxi_ts`"


def test_a_table_that_is_found_by_its_path(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    found = datasets.of_output("dataos://events:raw/clicks?acl=rw", "out", None, configured(root))
    path = f"{root}/events/raw/clicks"
    assert found == Dataset("dataos://events:raw/clicks", "events", "delta", "raw", "clicks", path)
    assert (found.identifier, found.is_table) == (f"delta.`{path}`", True)


def test_a_table_that_a_metastore_knows_by_name(tmp_path: Path) -> None:
    shop = Depot("shop", "delta", str(tmp_path), Catalog("hive", "thrift://host:9083"))
    project = Project(tmp_path, tmp_path / "catchment.yaml", "", {"shop": shop}, {"default": Engine("default")})
    found = datasets.of_input("dataos://shop:eu/orders", None, project)
    assert (found.named, found.path) == (True, f"{tmp_path.resolve()}/eu/orders")
    with pytest.raises(RequestError) as caught:
        datasets.of_input("dataos://shop:eu/my-orders", None, project)
    assert caught.value.code == "bad-address"


def test_the_other_name_of_the_lake_is_the_same_table(tmp_path: Path) -> None:
    project = configured(tmp_path)
    one = datasets.of_input("dataos://icebase:raw01/t", None, project)
    assert one == datasets.of_output("lake://lakehouse:raw01/t?acl=rw", "out", None, project)


def test_files(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    found = datasets.of_input("dataos://drop:none/ny-taxi-data", "json", configured(root))
    assert found == Dataset("dataos://drop:none/ny-taxi-data", "drop", "json", path=f"{root}/drop/ny-taxi-data")
    found = datasets.of_input("dataos://drop:day1/dir/a.csv", None, configured(root))
    assert (found.path, found.format) == (f"{root}/drop/day1/dir/a.csv", "csv")


def test_an_embedded_depot_holds_tables_and_files(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    assert datasets.of_input("dataos://any:raw/t", None, bare(root)).table == "t"
    files = datasets.of_input("dataos://any:none/t", "json", bare(root))
    assert files.path == f"{root}/.catchment/depots/any/files/t"


@pytest.mark.parametrize(
    ("text", "given", "format"),
    [
        ("dataos://drop:none/x", None, "parquet"),
        ("dataos://drop:none/x", "orc", "orc"),
        ("dataos://drop:none/x.json", None, "json"),
        ("dataos://drop:none/x.csv.gz", None, "csv"),
        ("dataos://drop:none/x.NDJSON", None, "json"),
        ("dataos://drop:none/v1.2", None, "parquet"),
        ("dataos://lakehouse:raw/x", None, "iceberg"),
        ("dataos://lakehouse:raw/x", "iceberg", "iceberg"),
        ("dataos://events:raw/x", "delta", "delta"),
    ],
)
def test_the_format_of_an_output(text: str, given: str | None, format: str, tmp_path: Path) -> None:
    assert datasets.of_output(text, "out", given, configured(tmp_path)).format == format


@pytest.mark.parametrize(("text", "format"), [("dataos://any:raw/x", "iceberg"), ("dataos://any:none/x.json", "json")])
def test_the_format_in_an_embedded_depot(text: str, format: str, tmp_path: Path) -> None:
    assert datasets.of_output(text, "out", None, bare(tmp_path)).format == format
    assert datasets.of_input(text, None, bare(tmp_path)).format == format


def test_an_output_without_dataset_takes_its_own_name(tmp_path: Path) -> None:
    project = configured(tmp_path)
    assert datasets.of_output("dataos://lakehouse:raw?acl=rw", "trips", None, project).table == "trips"
    assert str(datasets.of_output("dataos://drop:none", "trips", None, project).path).endswith("/drop/trips")


@pytest.mark.parametrize(
    ("text", "given", "code"),
    [
        ("dataos://lakehouse:raw", None, "no-dataset"),
        ("dataos://drop:none/x", None, "no-format"),
        ("dataos://lakehouse:raw/x", "json", "format-mismatch"),
        ("dataos://drop:none/x", "iceberg", "format-mismatch"),
        ("dataos://lakehouse:raw/x", "delta", "format-mismatch"),
        ("dataos://events:raw/x", "parquet", "format-mismatch"),
        ("dataos://events:none/x", None, "bad-address"),
        ("dataos://lakehouse:none/x", None, "bad-address"),
        ("dataos://lakehouse:raw/a/b", None, "bad-address"),
        ("dataos://lakehouse:raw/a.b", None, "bad-address"),
        ("dataos://lakehouse:raw 1/x", None, "bad-address"),
        ("dataos://nowhere:raw/x", None, "unknown-depot"),
        ("dataos://drop:none/../x", "json", "address-escapes-depot"),
    ],
)
def test_inputs_that_name_no_dataset(text: str, given: str | None, code: str, tmp_path: Path) -> None:
    with pytest.raises(RequestError) as caught:
        datasets.of_input(text, given, configured(tmp_path))
    assert caught.value.code == code
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "name", "code"),
    [
        ("dataos://lakehouse:raw/x?acl=r", "out", "read-only-output"),
        ("dataos://lakehouse:raw?acl=rw", "a b", "bad-address"),
        ("dataos://drop:none?acl=rw", "..", "address-escapes-depot"),
        ("dataos://here:none/lake?acl=rw", "out", "depots-overlap"),
        ("dataos://here:lake/raw01/t?acl=rw", "out", "depots-overlap"),
        ("dataos://here:none/far?acl=rw", "out", "depots-overlap"),
        ("dataos://here:events/raw/x?acl=rw", "out", "depots-overlap"),
    ],
)
def test_outputs_that_may_not_be_written(text: str, name: str, code: str, tmp_path: Path) -> None:
    with pytest.raises(RequestError) as caught:
        datasets.of_output(text, name, None, configured(tmp_path.resolve()))
    assert caught.value.code == code
    assert caught.value.hint


def test_files_beside_the_tables_are_fine(tmp_path: Path) -> None:
    found = datasets.of_output("dataos://here:none/lake2?acl=rw", "out", None, configured(tmp_path.resolve()))
    assert found.path == f"{tmp_path.resolve()}/lake2"


def test_a_plain_path_is_a_dataset_of_this_machine(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    project = bare(root)
    for text in (f"{root}/city.csv", f"{root}/city.csv/", "./city.csv", "./x/../city.csv?acl=r"):
        found = datasets.of_input(text, None, project)
        assert (found.depot, found.format, found.path) == ("localhost", "csv", f"{root}/city.csv")
    again = datasets.of_input(found.address, "csv", replace(project, file=root / "catchment.yaml"))
    assert again == found
    assert datasets.of_output("/dataout/city", "city", None, project).format == "parquet"


@pytest.mark.parametrize(
    ("text", "format", "code"),
    [
        ("/", "csv", "no-dataset"),
        ("/data/city", None, "no-format"),
        ("/data/city", "iceberg", "unsupported-table-path"),
        ("/data/../etc/*", "csv", "address-escapes-depot"),
        ("data/city.csv", None, "bad-address"),
        ("s3a://bucket/city.csv", None, "unsupported-location"),
    ],
)
def test_paths_that_cannot_be_read(tmp_path: Path, text: str, format: str | None, code: str) -> None:
    with pytest.raises(RequestError) as refused:
        datasets.of_input(text, format, bare(tmp_path))
    assert refused.value.code == code
    assert refused.value.hint


def test_plain_paths_do_not_lead_past_depots(tmp_path: Path) -> None:
    with pytest.raises(RequestError) as refused:
        datasets.of_input("/etc/passwd", "text", configured(tmp_path))
    assert (refused.value.code, "depot" in (refused.value.hint or "")) == ("bad-address", True)


@pytest.mark.parametrize("text", [".", "./.catchment", "./.catchment/depots/x/files/a", ".."])
def test_no_path_leads_to_what_catchment_keeps(tmp_path: Path, text: str) -> None:
    with pytest.raises(RequestError) as refused:
        datasets.of_output(text if text.startswith("./") else f"{text}/", "out", "json", bare(tmp_path))
    assert refused.value.code in ("depots-overlap", "address-escapes-depot")
