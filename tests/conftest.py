from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

import tests.formats  # noqa: F401 - registers them
from catchment.project.model import Depot
from catchment.store import open_store
from tests.ledgers import Filled, forget_readers
from tests.servers import kafka
from tests.spark.hosts import Host
from tests.spark.lake import UNPREPARED, LiveEngine, delta_depot, engine_plan, files_depot, lake_depot, paimon_depot
from tests.spark.topics import broker_depots

_names = itertools.count(1)

# Engines of tests live for seconds: what the second compiler and the parallel collector do for long jobs is only a
# cost here, and there are many of them. Without the second compiler, Java reserves so little space for compiled code
# (48 MB) that the engines that all tests share run out of it, which ends Spark.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=480m -XX:+UseSerialGC")

# Tests that play a terminal leave no engine behind, unless they are about that.
os.environ.setdefault("CI", "true")

# A shell makes what it starts in the background ignore Ctrl-C, `nohup` does so with hanging up; the programs that tests
# start would inherit that.
for _number, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)

# No test hangs on seconds: an example may take as long as a busy machine lets it.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


FIRST = ("tests/stores/", "tests/cli/", "tests/concurrency/", "tests/spark/", "tests/contract/", "tests/unit/")
"""The rooms of the suite, those with the longest files first: at the end nobody waits for a long one."""
TOGETHER = ("tests/stores/", "paimon")
"""Words in the names of tests that share servers or engines; otherwise the tests of a file stay together."""


class ByFile(LoadScopeScheduling):  # type: ignore[misc]
    """Deals out files, and tests that stay together, to the processes that tests run in."""

    def _split_scope(self, nodeid: str) -> str:
        return next((word for word in TOGETHER if word in nodeid), nodeid.partition("::")[0])


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    """Each of the processes has engines of its own: what shares them goes to the same one."""
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first."""
    items.sort(key=lambda item: next((n for n, room in enumerate(FIRST) if item.nodeid.startswith(room)), len(FIRST)))


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the depots of this session live."""
    return tmp_path_factory.mktemp("depots")


@pytest.fixture(scope="session")
def ports() -> kafka.Ports:
    """Where the broker of this session listens, if a test starts it."""
    return kafka.Ports.free()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory, ports: kafka.Ports) -> Iterator[kafka.Broker]:
    """A real Kafka, which the engines of this session know."""
    started = kafka.start(tmp_path_factory.mktemp("kafka"), ports)
    yield started
    started.stop()


@pytest.fixture(scope="session")
def depots(root: Path, ports: kafka.Ports) -> tuple[Depot, ...]:
    """A depot of every kind."""
    places = lake_depot(root), files_depot(root), delta_depot(root), Depot("toys", "toy", str(root / "toys"))
    return *places, *broker_depots(ports)


@pytest.fixture(scope="session")
def engine(root: Path, depots: tuple[Depot, ...]) -> Iterator[Host]:
    """One engine for every test that needs nothing special of it."""
    yield from _hosting(root, depots, "default")


@pytest.fixture(scope="session")
def elsewhere(root: Path, depots: tuple[Depot, ...], engine: Host) -> Iterator[Host]:
    """A second one on the same depots, with another Java: a rival, and the host of engines that are to be killed."""
    yield from _hosting(root, depots, "elsewhere")


@pytest.fixture(scope="session")
def older(root: Path) -> Iterator[Host]:
    """An engine on the older line of Spark, for what needs that, and the host of others that do."""
    in_database = paimon_depot(root, "sea", type="jdbc", database=str(root / "sea.db"))
    yield from _hosting(root, (paimon_depot(root), in_database), "older", spark="3.5")


@pytest.fixture(scope="session")
def spark_3(root: Path, depots: tuple[Depot, ...]) -> Iterator[Host]:
    """The host of engines on the older line of Spark that work on the depots of `engine`."""
    yield from _hosting(root, tuple(depot for depot in depots if depot.kind != "toy"), "spark-3", spark="3.5")


def _hosting(root: Path, depots: tuple[Depot, ...], key: str, **engine: Any) -> Iterator[Host]:
    live = Host(engine_plan(*depots, key=key, conf=UNPREPARED, **engine), root / f"logs-{key}")
    live.ready(patience=280)
    yield live
    live.process.stop(grace=10)
    log = live.log_dir / f"engine-{key}.log"
    assert "CodeCache is full" not in log.read_text(errors="replace")


@pytest.fixture
def fresh() -> str:
    """A name that no other test uses."""
    return f"t{next(_names)}"


@pytest.fixture
def filled(root: Path) -> Iterator[Filled]:
    """The ledger of the engines of this session."""
    with open_store(f"sqlite:///{root}/metastore.db") as store:
        yield Filled(store)


@pytest.fixture
def start_engine(tmp_path: Path, root: Path, elsewhere: Host) -> Iterator[Callable[..., LiveEngine]]:
    """Start engines of one's own, in a Java that is not that of `engine`; they end with the test."""
    yield from _guests_of(elsewhere, tmp_path, root)


@pytest.fixture
def start_older(tmp_path: Path, root: Path, older: Host) -> Iterator[Callable[..., LiveEngine]]:
    """The same, in the Java and on the depots of `older`."""
    yield from _guests_of(older, tmp_path, root)


@pytest.fixture
def start_spark_3(tmp_path: Path, root: Path, spark_3: Host) -> Iterator[Callable[..., LiveEngine]]:
    """The same, in the Java of `spark_3`."""
    yield from _guests_of(spark_3, tmp_path, root)


def _guests_of(host: Host, tmp_path: Path, root: Path) -> Iterator[Callable[..., LiveEngine]]:
    def start(*depots: Depot, secrets: tuple[str, ...] = (), **engine: Any) -> LiveEngine:
        of_host = {"spark": host.plan.engine.spark, "conf": host.plan.engine.conf}
        plan = engine_plan(*(depots or host.plan.depots), **{**of_host, **engine})
        started.append(host.guest(plan, tmp_path / f"logs-{len(started)}", secrets))
        return started[-1]

    started: list[LiveEngine] = []
    yield start
    _end(started, root)


@pytest.fixture
def start_java(tmp_path: Path, root: Path) -> Iterator[Callable[..., LiveEngine]]:
    """Start engines with a Java of their own, which takes seconds; they end with the test."""

    def start(*depots: Depot, secrets: tuple[str, ...] = (), **engine: Any) -> LiveEngine:
        started.append(LiveEngine(engine_plan(*depots, **engine), tmp_path / f"logs-java-{len(started)}", secrets))
        return started[-1]

    started: list[LiveEngine] = []
    yield start
    _end(started, root)


def _end(started: list[LiveEngine], root: Path) -> None:
    for live in started:
        live.process.stop(grace=5)
    if started and (root / "metastore.db").exists():
        with open_store(f"sqlite:///{root}/metastore.db") as store:
            forget_readers(store)
