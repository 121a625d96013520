from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from catchment import project
from catchment.errors import InvalidFiles
from catchment.project.model import Catalog, Engine, Thresholds, Upkeep

EXAMPLE = """\
metastore: sqlite:///.catchment/metastore.db
engines:
  default: {spark: "4.1", master: "local[*]", isolation: shared, conf: {spark.driver.memory: 2g}}
depots:
  thirdparty01: {kind: files, location: ./dropzone}
  lakehouse: {kind: iceberg, location: ./lake, catalog: {type: jdbc}}     # embedded SQLite catalog
"""


def write(directory: Path, text: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "catchment.yaml"
    file.write_text(text)
    return directory


def test_the_example_of_the_documentation(tmp_path: Path) -> None:
    root = write(tmp_path, EXAMPLE).resolve()
    found = project.load(tmp_path)
    assert (found.root, found.file, found.home) == (root, root / "catchment.yaml", root / ".catchment")
    assert found.metastore == f"sqlite:///{root}/.catchment/metastore.db"
    assert found.engines["default"].conf == {"spark.driver.memory": "2g"}
    dropzone, lake = found.depots["thirdparty01"], found.depots["lakehouse"]
    assert (dropzone.kind, dropzone.files, dropzone.catalog) == ("files", f"{root}/dropzone", None)
    assert (lake.kind, lake.warehouse) == ("iceberg", f"{root}/lake")
    assert lake.catalog == Catalog("jdbc", database=f"{root}/lake/catalog.db")
    assert lake.where is not None
    assert (lake.where.line, lake.where.column) == (6, 3)


def test_the_file_is_found_above_a_workflow(tmp_path: Path) -> None:
    root = write(tmp_path, EXAMPLE).resolve()
    workflow = tmp_path / "flows" / "daily" / "taxi.yaml"
    workflow.parent.mkdir(parents=True)
    workflow.touch()
    for start in (workflow, workflow.parent, workflow.parent / "missing.yaml", tmp_path / "catchment.yaml"):
        assert project.load(start).root == root


def test_without_a_file_the_directory_is_the_project(tmp_path: Path) -> None:
    found = project.load(tmp_path / "taxi.yaml")
    assert (found.root, found.file, found.depots) == (tmp_path.resolve(), None, {})
    assert found.engines == {"default": Engine("default")}
    assert found.metastore == f"sqlite:///{tmp_path.resolve()}/.catchment/metastore.db"


def test_the_default_engine_exists_beside_others(tmp_path: Path) -> None:
    write(tmp_path, "engines:\n  old: {spark: 3.5, isolation: process, packages: ['a:b:1']}\n")
    engines = project.load(tmp_path).engines
    assert engines["default"] == Engine("default")
    old = engines["old"]
    assert (old.spark, old.isolation, old.packages) == ("3.5", "process", ("a:b:1",))


def test_upkeep_is_said_of_depots_and_of_tables(tmp_path: Path) -> None:
    text = (
        "depots:\n  lake: {kind: iceberg, location: .}\nmaintain:\n"
        "  lake://lake:raw/t?acl=rw: {delete_files: 2, level0_files: 3, quiet: 5s, retention: 7d}\n"
        "  lake: {small_files: 9, small_file_size: 1.5 MB, age: 2h}\n"
    )
    found = project.load(write(tmp_path, text)).maintain
    of_depot = Thresholds(small_files=9, small_file_bytes=1_572_864, age=7200.0)
    assert found == {
        "lake": Upkeep(of_depot),
        "dataos://lake:raw/t": Upkeep(replace(of_depot, delete_files=2, level0_files=3, quiet=5.0), 604_800.0),
    }
    assert project.load(write(tmp_path, "maintain:\n")).maintain == {}


def test_what_a_table_says_of_its_upkeep_goes_before_what_its_depot_says(tmp_path: Path) -> None:
    text = (
        "depots:\n  lake: {kind: iceberg, location: .}\nmaintain:\n"
        "  lake: {small_files: 10, retention: 7d, quiet: 2m, small_file_size: 1MB}\n"
        "  dataos://lake:raw/a: {small_files: 5}\n"
        "  dataos://lake:raw/b: {small_file_size: 2MB, retention: null}\n"
    )
    found = project.load(write(tmp_path, text)).maintain
    of_depot = Thresholds(small_files=10, small_file_bytes=1_048_576, quiet=120.0)
    assert found["dataos://lake:raw/a"] == Upkeep(replace(of_depot, small_files=5), 604_800.0)
    assert found["dataos://lake:raw/b"] == Upkeep(replace(of_depot, small_file_bytes=2_097_152), None)
    places = [each.thresholds.small_file_where for each in found.values()]
    assert [place and place.line for place in places] == [4, 4, 6]


def test_settings_have_defaults(tmp_path: Path) -> None:
    assert project.load(tmp_path).settings.max_pending == 1000
    assert project.load(write(tmp_path, "settings:\n")).settings.max_pending == 1000
    assert project.load(write(tmp_path, "settings: {max_pending: 7}\n")).settings.max_pending == 7
    assert project.load(write(tmp_path, "settings: {max_pending: 7}\n")).settings.keep_days == 90
    assert project.load(write(tmp_path, "settings: {keep_days: 400}\n")).settings.keep_days == 400
    assert project.load(write(tmp_path, "settings:\n")).settings.linger == 0.0
    assert project.load(write(tmp_path, "settings: {linger: 1m30s}\n")).settings.linger == 90.0
    text = "settings: {pass_environment: [AWS_*, HOME]}\n"
    assert project.load(write(tmp_path, text)).settings.pass_environment == ("AWS_*", "HOME")


def test_sections_may_be_empty(tmp_path: Path) -> None:
    write(tmp_path, "depots:\n#  lake: {kind: files, location: .}\nengines:\n")
    assert project.load(tmp_path).depots == {}


@pytest.mark.parametrize(
    ("entry", "location", "catalog"),
    [
        (
            "location: s3a://bucket/lake/",
            "s3a://bucket/lake",
            Catalog("jdbc", database="{root}/.catchment/depots/d/catalog.db"),
        ),
        ("location: /data/lake", "/data/lake", Catalog("jdbc", database="/data/lake/catalog.db")),
        ("location: file:///data/lake", "/data/lake", Catalog("jdbc", database="/data/lake/catalog.db")),
        (
            "location: lake, catalog: {uri: 'jdbc:postgresql://h/c', properties: {jdbc.user: 1}}",
            "{root}/lake",
            Catalog("jdbc", "jdbc:postgresql://h/c", properties={"jdbc.user": "1"}),
        ),
        ("catalog: {type: rest, uri: 'https://h/i'}", "", Catalog("rest", "https://h/i")),
        ("location: wh, catalog: {type: rest, uri: 'https://h/i'}", "wh", Catalog("rest", "https://h/i")),
        ("catalog: {type: hive, uri: 'thrift://h:9083'}", "", Catalog("hive", "thrift://h:9083")),
        ("location: ../lake, catalog: {type: hadoop}", "{parent}/lake", Catalog("hadoop")),
    ],
)
def test_locations_and_catalogs(entry: str, location: str, catalog: Catalog, tmp_path: Path) -> None:
    root = write(tmp_path, f"depots:\n  d: {{kind: iceberg, {entry}}}\n").resolve()
    depot = project.load(tmp_path).depots["d"]
    assert depot.location == location.format(root=root, parent=root.parent)
    database = catalog.database and catalog.database.format(root=root)
    assert depot.catalog == Catalog(catalog.type, catalog.uri, database, catalog.properties)


def test_a_hadoop_catalog_is_warned_of(tmp_path: Path) -> None:
    write(tmp_path, "depots:\n  d: {kind: iceberg, location: ., catalog: {type: hadoop}}\n")
    (warning,) = project.load(tmp_path).warnings
    assert (warning.code, warning.is_error) == ("hadoop-catalog", False)
    assert warning.where is not None
    assert (warning.where.line, warning.where.column) == (2, 51)


_S3 = "kind: paimon, location: s3a://bucket/pond"
_HIVE = "type: hive, uri: 'thrift://h:9083'"


@pytest.mark.parametrize(
    ("entry", "column"),
    [
        (_S3, 21),
        (f"{_S3}, catalog: {{type: filesystem}}", 50),
        (f"{_S3}, catalog: {{type: jdbc, uri: 'jdbc:postgresql://h/d'}}", 50),
        (f"{_S3}, catalog: {{{_HIVE}, properties: {{lock.enabled: false}}}}", 50),
        (f"{_S3}, catalog: {{type: jdbc}}", None),
        (f"{_S3}, catalog: {{{_HIVE}}}", None),
        (f"{_S3}, catalog: {{type: jdbc, uri: 'jdbc:mysql://h/d'}}", None),
        (f"{_S3}, catalog: {{type: filesystem, properties: {{lock.enabled: true, lock.type: ours}}}}", None),
        ("kind: paimon, location: ./pond", None),
        ("kind: paimon, location: 'hdfs://there/pond'", None),
        ("kind: paimon, location: 'hdfs://there/pond', catalog: {properties: {lock.enabled: false}}", None),
    ],
)
def test_a_depot_on_which_only_catchment_may_write_is_warned_of(entry: str, column: int | None, tmp_path: Path) -> None:
    write(tmp_path, f"depots:\n  d: {{{entry}}}\n")
    found = project.load(tmp_path).warnings
    places = [(each.code, each.is_error, each.where.line, each.where.column) for each in found if each.where]
    assert places == ([] if column is None else [("unguarded-depot", False, 2, column)])
    assert all("lock" in str(each.hint) for each in found)


def test_references_are_filled_in_and_some_are_secret(tmp_path: Path) -> None:
    (tmp_path / "key.txt").write_text("abc-key\n")
    text = """\
depots:
  d:
    kind: iceberg
    location: s3a://bucket
    catalog:
      uri: jdbc:postgresql://user:${secret:PASSWORD}@${env:HOST}/db
    conf:
      spark.hadoop.fs.s3a.secret.key: ${file:key.txt}
      spark.hadoop.hadoop.tmp.dir: /tmp/${user.name}
      again: ${secret:PASSWORD}
      literal: $${secret:PASSWORD}
"""
    write(tmp_path, text)
    found = project.load(tmp_path, env={"PASSWORD": "hunter2", "HOST": "host"})
    depot = found.depots["d"]
    assert depot.catalog is not None
    assert depot.catalog.uri == "jdbc:postgresql://user:hunter2@host/db"
    assert depot.conf == {
        "spark.hadoop.fs.s3a.secret.key": "abc-key",
        "spark.hadoop.hadoop.tmp.dir": "/tmp/${user.name}",
        "again": "hunter2",
        "literal": "${secret:PASSWORD}",
    }
    assert found.secrets == ("hunter2", "abc-key")
    assert found.warnings == ()


def test_a_variable_that_looks_like_a_secret_is_warned_of_where_it_is_plain(tmp_path: Path) -> None:
    names = ("DB_PASSWORD", "token", "AWS_SECRET_ACCESS_KEY", "X_SECRET", "KEYBOARD", "HOME")
    conf = "".join(f"      {name}: ${{env:{name}}}\n" for name in names)
    write(tmp_path, f"engines:\n  default:\n    conf:\n{conf}")
    found = project.load(tmp_path, env=dict.fromkeys(names, "value"))
    assert found.secrets == ()
    assert [(each.code, each.where and each.where.line) for each in found.warnings] == [
        ("plain-secret", line) for line in (4, 5, 6, 7)
    ]


def test_a_secret_that_is_too_short_to_be_masked_is_warned_of(tmp_path: Path) -> None:
    write(tmp_path, "engines: {default: {conf: {a: '${secret:PIN}', b: '${secret:LONG}'}}}\n")
    found = project.load(tmp_path, env={"PIN": "123", "LONG": "1234"})
    assert [each.code for each in found.warnings] == ["secret-too-short"]
    assert "123" not in found.warnings[0].message


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:${secret:PASSWORD}@db.example:5432/catchment",
        "postgresql://user@db.example/catchment?sslmode=require&options=-csearch_path%3Dlake",
        "postgresql:///catchment?host=/run/postgresql",
        "postgresql://u:p%40%2F@[::1]:5432/catchment",
    ],
)
def test_a_metastore_on_postgresql_stays_as_it_is_written(url: str, tmp_path: Path) -> None:
    write(tmp_path, f"metastore: {url}\n")
    found = project.load(tmp_path, env={"PASSWORD": "hunter2"})
    assert found.metastore == url.replace("${secret:PASSWORD}", "hunter2")


def test_the_environment_is_the_process_unless_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKE", "warehouse")
    write(tmp_path, "depots:\n  d: {kind: files, location: './${env:LAKE}'}\n")
    assert project.load(tmp_path).depots["d"].location.endswith("/warehouse")
    with pytest.raises(InvalidFiles):
        project.load(tmp_path, env={})


def test_a_variable_cannot_change_the_structure(tmp_path: Path) -> None:
    write(tmp_path, "depots:\n  d: {kind: files, location: '${env:X}'}\n")
    depots = project.load(tmp_path, env={"X": "a}\nmetastore: x"}).depots
    assert list(depots) == ["d"]


def test_loading_needs_neither_spark_nor_the_database(tmp_path: Path) -> None:
    write(tmp_path, EXAMPLE)
    program = (
        "import sys; from pathlib import Path; from catchment import project; project.load(Path(sys.argv[1])); "
        "assert not {'pyspark', 'py4j', 'sqlalchemy', 'psycopg'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)


HIVE, REST = "{type: hive, uri: 'thrift://", "{type: rest, uri: 'http"


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        (f"location: a, catalog: {HIVE}m:9083'}}", f"location: b, catalog: {HIVE}m:9083'}}", True),
        (f"catalog: {HIVE}m:9083'}}", f"catalog: {HIVE}M'}}", True),
        (f"catalog: {HIVE}m:9083,thrift://n:9083'}}", f"catalog: {HIVE}n/'}}", True),
        (f"catalog: {HIVE}m:9083'}}", f"catalog: {HIVE}m:9084'}}", False),
        (f"location: w, catalog: {REST}://c/api/'}}", f"location: w, catalog: {REST}://C:80/api'}}", True),
        (f"location: w, catalog: {REST}s://c'}}", f"location: w, catalog: {REST}s://c:443/'}}", True),
        (f"location: w, catalog: {REST}://c/api'}}", f"location: w, catalog: {REST}://c/Api'}}", False),
        (f"location: v, catalog: {REST}://c/api'}}", f"location: w, catalog: {REST}://c/api'}}", False),
        ("location: w, catalog: {type: hadoop}", "location: ./w/, catalog: {type: hadoop}", True),
        ("location: v, catalog: {type: hadoop}", "location: w, catalog: {type: hadoop}", False),
    ],
)
def test_two_depots_over_one_catalog_are_noticed(first: str, second: str, shared: bool, tmp_path: Path) -> None:
    write(tmp_path, f"depots:\n  a: {{kind: iceberg, {first}}}\n  b: {{kind: iceberg, {second}}}\n")
    if not shared:
        assert set(project.load(tmp_path).depots) == {"a", "b"}
        return
    with pytest.raises(InvalidFiles) as refused:
        project.load(tmp_path)
    assert [each.code for each in refused.value.diagnostics if each.is_error] == ["catalog-shared"]
