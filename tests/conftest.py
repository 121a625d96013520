from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from catchment.project.model import Depot
from catchment.store import open_store
from tests.ledgers import Filled, forget_readers
from tests.spark.lake import LiveEngine, engine_plan, files_depot, lake_depot

_names = itertools.count(1)

# Engines of tests live for seconds: what the second compiler and the parallel collector do for long jobs is only a
# cost here, and there are many of them.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the depots of this session live."""
    return tmp_path_factory.mktemp("depots")


@pytest.fixture(scope="session")
def engine(root: Path) -> Iterator[LiveEngine]:
    """One engine for every test that needs nothing special of it."""
    live = LiveEngine(engine_plan(lake_depot(root), files_depot(root)), root / "logs")
    live.ready()
    yield live
    live.process.stop(grace=10)


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
def start_engine(tmp_path: Path, root: Path) -> Iterator[Callable[..., LiveEngine]]:
    """Start engines of one's own; they end with the test."""
    started: list[LiveEngine] = []

    def start(*depots: Depot, secrets: tuple[str, ...] = (), **engine: Any) -> LiveEngine:
        plan = engine_plan(*depots, **engine)
        started.append(LiveEngine(plan, tmp_path / f"logs-{len(started)}", secrets))
        return started[-1]

    yield start
    for live in started:
        live.process.stop(grace=5)
    if (root / "metastore.db").exists():
        with open_store(f"sqlite:///{root}/metastore.db") as store:
            forget_readers(store)
