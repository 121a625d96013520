"""What an engine needs on the machine: packages, Java, a master."""

from __future__ import annotations

import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from catchment.engine import cache, class_archive, java, maven
from catchment.engine.coordinates import packages_of, spark_line
from catchment.engine.packages import install
from catchment.errors import Cancelled, CatchmentError, Position
from catchment.plan.model import EnginePlan
from catchment.project.model import Catalog, Depot, Engine
from catchment.worker import session
from tests.unit.project.sparks import fake_spark


def plan(*depots: Depot, conf: dict[str, str] | None = None, **engine: Any) -> EnginePlan:
    return EnginePlan("default", Engine("default", **engine), conf=conf or {}, depots=depots)


def artifacts(engine: EnginePlan) -> set[str]:
    return {package.parts[1] for package in packages_of(engine)}


def code_of(error: pytest.ExceptionInfo[CatchmentError]) -> str:
    assert error.value.hint
    return error.value.code


def test_packages_follow_from_depots() -> None:
    lake = Depot("lake", "iceberg", "/lake", Catalog(database="/c.db"))
    assert artifacts(plan()) == {"spark-avro_2.13", "iceberg-spark-runtime-4.1_2.13", "sqlite-jdbc"}
    assert packages_of(plan(lake)) == packages_of(plan())
    assert artifacts(plan(lake, spark="3.5")) == {"spark-avro_2.12", "iceberg-spark-runtime-3.5_2.12", "sqlite-jdbc"}
    remote = Depot("lake", "iceberg", "s3://b/lake", Catalog(uri="jdbc:postgresql://h/d"))
    assert {"postgresql", "hadoop-aws", "iceberg-aws-bundle"} <= artifacts(plan(remote))
    assert "hadoop-aws" in artifacts(plan(Depot("drop", "files", "s3a://b/drop")))
    assert "iceberg-aws-bundle" in artifacts(plan(Depot("lake", "iceberg", "warehouse", Catalog("rest", "http://h"))))
    events = Depot("events", "delta", "/events")
    assert artifacts(plan(events)) - artifacts(plan()) == {"delta-spark_4.1_2.13", "delta-storage"}
    assert {"delta-spark_2.12", "delta-storage"} <= artifacts(plan(events, spark="3.5"))


def test_packages_that_are_asked_for() -> None:
    assert "b" in artifacts(plan(packages=("a:b:1",)))
    assert {"c", "e"} <= artifacts(plan(conf={"spark.jars.packages": "a:c:1, d:e:2"}))
    with pytest.raises(CatchmentError) as caught:
        packages_of(plan(packages=("a:b",)))
    assert code_of(caught) == "package-invalid"


def test_a_spark_that_is_not_supported() -> None:
    with pytest.raises(CatchmentError) as caught:
        packages_of(plan(spark="2.4"))
    assert code_of(caught) == "unsupported-spark"


def fake_java(home: Path, version: str) -> None:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    (home / "bin" / "java").chmod(0o755)


@pytest.mark.parametrize(("version", "major"), [("17.0.15", 17), ("21", 21), ("21.0.2-ea", 21)])
def test_a_java_that_fits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, major: int) -> None:
    fake_java(tmp_path / "jdk", version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    assert java.find().major == major


@pytest.mark.parametrize("version", ["11.0.2", "1.8.0_402", "25.0.1"])
@pytest.mark.parametrize("release", [True, False])
def test_a_java_that_does_not_fit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, release: bool) -> None:
    fake_java(tmp_path / "jdk", "17.0.1" if release else version)
    if release:
        (tmp_path / "jdk" / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    with pytest.raises(CatchmentError) as caught:
        install(plan(), print)
    assert code_of(caught) == "java-unsupported"


@pytest.mark.parametrize("home", [None, "nowhere"])
def test_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: str | None) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    if home:
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / home))
    with pytest.raises(CatchmentError) as caught:
        install(plan(), print)
    assert code_of(caught) == "java-missing"


def test_a_spark_home_that_has_changed_since_it_was_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "jdk", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    here = Position("catchment.yaml", 3, 5)
    for home, code in ((tmp_path, "spark-home-invalid"), (fake_spark(tmp_path / "spark"), "spark-home-differs")):
        with pytest.raises(CatchmentError) as caught:
            install(plan(spark="4.1", spark_home=str(home), where=here), print)
        assert (code_of(caught), caught.value.where) == (code, here)


def fake_installer(program: Path, pyspark: str, *, fails: bool) -> Path:
    """A Python that installs a pyspark of one jar, notes each call, and may fail at the end."""
    jar, record = "pyspark/jars/spark.jar", f"pyspark-{pyspark}.dist-info/RECORD"
    lines = [
        "#!/bin/sh",
        f"echo called >> {program}.calls",
        'while [ "$1" != --target ]; do shift; done; mkdir -p "$2"; cd "$2"',
        f"mkdir -p pyspark/jars $(dirname {record}); echo > {jar}; echo {jar},sha256=x,1 > {record}",
        f"echo no route to the index; exit {int(fails)}",
    ]
    program.write_text("\n".join(lines))
    program.chmod(0o755)
    return program


def test_another_line_of_spark_is_installed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "jdk", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(maven, "jars", lambda *_: ())
    older = plan(spark="3.5", conf={"spark.driver.extraJavaOptions": class_archive.NO_SHARING})
    version = spark_line(older).pyspark
    monkeypatch.setattr(sys, "executable", str(fake_installer(tmp_path / "python", version, fails=True)))
    with pytest.raises(CatchmentError) as caught:
        install(older, print)
    assert (code_of(caught), caught.value.detail) == ("spark-not-installed", "no route to the index\n")
    assert [path.name for path in cache.root().iterdir()] == ["pyspark.lock"]
    fake_installer(tmp_path / "python", version, fails=False)
    told: list[str] = []
    with ThreadPoolExecutor() as threads:
        found = list(threads.map(lambda _: install(older, told.append), range(3)))
    assert {each.spark_home for each in found} == {str(cache.root() / f"pyspark-{version}" / "pyspark")}
    assert (tmp_path / "python.calls").read_text().splitlines() == ["called"] * 2  # the first one failed
    assert len(told) == 1


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(CatchmentError) as caught, cache.locked("x"):
        pass
    assert code_of(caught) == "cache-not-writable"


def test_programs_are_ended_when_cancelled() -> None:
    cancelled = Event()
    cancelled.set()
    with pytest.raises(Cancelled):
        cache.run_quietly([sys.executable, "-c", "import time; time.sleep(60)"], cancelled)
    assert cache.run_quietly([sys.executable, "-c", "print('x'); exit(3)"], Event()) == (3, "x\n")


def test_yarn_has_to_be_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in session.YARN_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(CatchmentError) as caught:
        session.require_master("yarn")
    assert code_of(caught) == "yarn-not-configured"
    monkeypatch.setenv("YARN_CONF_DIR", str(tmp_path))
    session.require_master("yarn")


def test_masters() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        session.require_master(f"spark://127.0.0.1:{port}")
        session.require_master(f"spark://127.0.0.1:1,127.0.0.1:{port}")
        session.require_master("local[*]")
    for nobody in ("spark://127.0.0.1:1", "spark://nonsense", "spark://no.such.host.invalid:7077"):
        with pytest.raises(CatchmentError) as caught:
            session.require_master(nobody)
        assert code_of(caught) == "master-unreachable"
