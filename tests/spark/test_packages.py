"""Packages that cannot be had."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment.engine.packages import install
from catchment.errors import CatchmentError
from tests.spark.lake import LiveEngine, engine_plan


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_package_that_does_not_exist(tmp_path: Path) -> None:
    told: list[str] = []
    with pytest.raises(CatchmentError) as caught:
        install(engine_plan(packages=("org.example.nowhere:nothing:1.0",)), told.append)
    assert caught.value.code == "package-not-found"
    assert "org.example.nowhere:nothing:1.0" in caught.value.message
    assert len(told) == 1
    assert not list(tmp_path.glob("catchment/jars/*"))


def test_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=1"
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", nobody)
    with pytest.raises(CatchmentError) as caught:
        install(engine_plan(), print)
    assert caught.value.code == "no-network"


@pytest.mark.slow
def test_a_second_start_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = engine_plan(conf={"spark.driver.extraJavaOptions": "-Xshare:off"})
    first = install(plan, print)
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=1")
    told: list[str] = []
    assert install(plan, told.append) == first
    assert told == []
    assert all(Path(jar).is_file() for jar in first.jars)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_an_archive_is_made_once_and_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told: list[str] = []
    installed = install(engine_plan(), told.append)
    [option] = installed.java_options
    archive = Path(option.partition("=")[2])
    assert archive.stat().st_size > 10_000_000
    assert archive.parent == tmp_path / "catchment" / "archives"
    assert install(engine_plan(), told.append) == installed
    assert len(told) == 2
    assert [left for left in archive.parent.iterdir() if left != archive] == []
    # With this switch Java refuses to start where it cannot use the archive.
    strict = engine_plan(conf={"spark.driver.extraJavaOptions": "-Xshare:on"})
    live = LiveEngine(strict, tmp_path / "logs")
    try:
        live.ready()
    finally:
        live.process.stop(grace=10)
