"""The jars on the class path are the ones that were checked."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from catchment.engine import cache, jar_files
from catchment.engine.coordinates import SPARK_LINES, packages_of, possible_sets
from catchment.engine.jar_files import Lock, check, class_path
from catchment.errors import SetupError
from catchment.formats.traits import Package
from catchment.plan.model import EnginePlan
from catchment.project.model import Catalog, Depot, Engine

OURS = (Package("org.example:ours:1"),)
THEIRS = (Package("org.example:theirs:1"),)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A download of two jars; both are pinned for the set OURS."""
    lock = Lock({"a.jar": digest("a"), "b.jar": digest("b")}, {jar_files.fingerprint(OURS): ["a.jar", "b.jar"]})
    monkeypatch.setattr(jar_files, "pinned", lambda: lock)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = jar_files.directory_of(OURS)
    made.mkdir(parents=True)
    for name in ("a", "b"):
        (made / f"{name}.jar").write_text(name)
    return made


def refused(directory: Path, packages: tuple[Package, ...]) -> str:
    with pytest.raises(SetupError) as caught:
        check(directory, packages)
    assert str(directory) in str(caught.value.hint)
    return f"{caught.value.code}: {caught.value.message}"


def names(found: tuple[str, ...] | None) -> list[str] | None:
    return None if found is None else [Path(each).name for each in found]


def test_a_download_is_checked_once_and_then_only_looked_at(directory: Path) -> None:
    assert class_path(directory, OURS) is None
    check(directory, OURS)
    assert names(class_path(directory, OURS)) == ["a.jar", "b.jar"]


@pytest.mark.parametrize("packages", [OURS, THEIRS])
def test_a_strange_jar_is_not_on_the_class_path(directory: Path, packages: tuple[Package, ...]) -> None:
    check(directory, packages)
    (directory / "evil.jar").write_text("evil")
    assert names(class_path(directory, packages)) == ["a.jar", "b.jar"]


def test_a_strange_jar_that_was_there_before_the_list_is_not_either(directory: Path) -> None:
    (directory / "evil.jar").write_text("evil")
    check(directory, OURS)
    assert names(class_path(directory, OURS)) == ["a.jar", "b.jar"]


@pytest.mark.parametrize("content", ["", "x", "longer"])
def test_a_changed_jar_is_named(directory: Path, content: str) -> None:
    check(directory, OURS)
    (directory / "b.jar").write_text(content)
    assert class_path(directory, OURS) is None
    assert refused(directory, OURS).startswith("jar-altered: b.jar")


def test_a_missing_jar_is_named(directory: Path) -> None:
    check(directory, OURS)
    (directory / "b.jar").unlink()
    assert class_path(directory, OURS) is None
    assert refused(directory, OURS).startswith(f"jar-damaged: {directory / 'b.jar'}")


def test_a_jar_that_was_only_touched_is_read_again(directory: Path) -> None:
    check(directory, OURS)
    (directory / "b.jar").unlink()
    (directory / "b.jar").write_text("b")
    check(directory, OURS)
    assert names(class_path(directory, OURS)) == ["a.jar", "b.jar"]


def test_a_list_that_differs_from_the_lock_counts_for_nothing(directory: Path) -> None:
    check(directory, OURS)
    listed = json.loads((directory / jar_files.LIST).read_text())
    (directory / "b.jar").write_text("x")
    status = (directory / "b.jar").stat()
    listed["b.jar"] = {"sha256": digest("x"), "bytes": status.st_size, "changed_ns": status.st_mtime_ns}
    (directory / jar_files.LIST).write_text(json.dumps(listed))
    assert class_path(directory, OURS) is None
    assert refused(directory, OURS).startswith("jar-altered: b.jar")


def test_packages_of_a_project_are_trusted_at_first_use(directory: Path) -> None:
    (directory / "theirs.jar").write_text("first")
    check(directory, THEIRS)
    known = json.loads((cache.root() / jar_files.KNOWN).read_text())
    assert known == {"theirs.jar": digest("first")}
    (directory / "theirs.jar").write_text("second")
    with pytest.raises(SetupError) as caught:
        check(directory, THEIRS)
    assert caught.value.code == "jar-altered"
    assert jar_files.KNOWN in str(caught.value.hint)


def test_the_lock_has_every_set_of_packages() -> None:
    lock = jar_files.pinned()
    for line in SPARK_LINES:
        for packages in possible_sets(line):
            assert jar_files.fingerprint(packages) in lock.sets, f"run `make lock`: {packages}"
    assert {name for jars in lock.sets.values() for name in jars} == set(lock.jars)


@pytest.mark.parametrize("line", SPARK_LINES)
def test_what_depots_need_is_one_of_these_sets(line: str) -> None:
    depots = (
        Depot("a", "iceberg", "s3a://b/a", Catalog(uri="jdbc:postgresql://h/d")),
        Depot("b", "delta", "/b"),
        Depot("c", "iceberg", "w", Catalog("rest", "http://h")),
    )
    for chosen in ((), depots[:1], depots[1:2], depots[2:], depots):
        packages = packages_of(EnginePlan("default", Engine("default", spark=line), depots=tuple(chosen)))
        assert packages in set(possible_sets(line))


def test_the_jars_of_an_installed_spark_are_compared_with_its_own_list(tmp_path: Path) -> None:
    (tmp_path / "pyspark" / "jars").mkdir(parents=True)
    (tmp_path / "pyspark" / "jars" / "a.jar").write_text("12345")
    (tmp_path / "pyspark-9.dist-info").mkdir()
    record = "pyspark/jars/a.jar,sha256=x,5\npyspark/__init__.py,sha256=y,7\n"
    (tmp_path / "pyspark-9.dist-info" / "RECORD").write_text(record)
    jar_files.check_installed(tmp_path, "9")
    for name, content in (("evil.jar", "x"), ("a.jar", "123")):
        (tmp_path / "pyspark" / "jars" / name).write_text(content)
        with pytest.raises(SetupError) as caught:
            jar_files.check_installed(tmp_path, "9")
        assert (caught.value.code, name in caught.value.message) == ("jar-damaged", True)
        (tmp_path / "pyspark" / "jars" / "evil.jar").unlink(missing_ok=True)


@pytest.mark.parametrize("line", SPARK_LINES.values())
def test_every_pyspark_is_pinned_with_hashes(line: object) -> None:
    lines = line.requirements.read_text().splitlines()  # type: ignore[attr-defined]
    assert f"pyspark=={line.pyspark} \\" in lines  # type: ignore[attr-defined]
    assert all(each.startswith("    --hash=sha256:") or each.endswith(" \\") for each in lines)
