"""Engines with a Spark that is already on the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment import project
from catchment.errors import InvalidFiles
from catchment.project.model import Project
from catchment.project.spark_versions import python_path
from tests.unit.project.sparks import fake_spark


def load(root: Path, more: str = "") -> Project:
    (root / "catchment.yaml").write_text(f"engines:\n  old:\n    spark_home: spark\n{more}")
    return project.load(root)


def refused(root: Path, more: str = "") -> tuple[str, int, int]:
    with pytest.raises(InvalidFiles) as caught:
        load(root, more)
    [found] = caught.value.diagnostics
    assert found.hint
    assert found.where
    return found.code, found.where.line, found.where.column


@pytest.mark.parametrize(("version", "scala", "line"), [("3.5.0", "2.12", "3.5"), ("4.1.2-x", "2.13", "4.1")])
def test_its_line_is_found(tmp_path: Path, version: str, scala: str, line: str) -> None:
    home = fake_spark(tmp_path / "spark", version, scala)
    old = load(tmp_path).engines["old"]
    assert (old.spark, old.spark_home) == (line, str(home))
    assert load(tmp_path, f'    spark: "{line}"\n').engines["old"] == old


@pytest.mark.parametrize(("version", "scala"), [("4.0.1", "2.13"), ("2.4.8", "2.11"), ("3.5.1", "2.13")])
def test_a_spark_that_is_not_supported(tmp_path: Path, version: str, scala: str) -> None:
    fake_spark(tmp_path / "spark", version, scala)
    assert refused(tmp_path) == ("unsupported-spark", 3, 17)


def test_a_directory_that_is_missing_or_not_a_spark(tmp_path: Path) -> None:
    assert refused(tmp_path) == ("spark-home-invalid", 3, 17)
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    assert refused(tmp_path) == ("spark-home-invalid", 3, 17)
    (fake_spark(tmp_path / "spark") / "python/lib/py4j-0.10-src.zip").unlink()
    assert refused(tmp_path) == ("spark-home-invalid", 3, 17)


def test_a_spark_of_another_line_than_the_file_says(tmp_path: Path) -> None:
    fake_spark(tmp_path / "spark", "3.5.7")
    assert refused(tmp_path, '    spark: "4.1"\n') == ("spark-home-differs", 3, 17)


def test_python_finds_the_unpacked_pyspark_of_a_distribution(tmp_path: Path) -> None:
    home = fake_spark(tmp_path)
    bridge = str(home / "python/lib/py4j-0.10-src.zip")
    assert python_path(home) == [str(home / "python/lib/pyspark.zip"), bridge]
    (home / "python/pyspark").mkdir()
    (home / "python/pyspark/__init__.py").touch()
    assert python_path(home) == [str(home / "python"), bridge]
