from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from catchment.plan.model import Dataset
from catchment.store import open_store
from tests.ledgers import Filled
from tests.spark.delta.engines import started
from tests.spark.lake import LiveEngine, delta_table


@pytest.fixture(scope="package")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the depots of these tests live."""
    return tmp_path_factory.mktemp("delta")


@pytest.fixture(scope="package")
def here(place: Path) -> Iterator[LiveEngine]:
    """An engine for every test that needs nothing special of it."""
    yield from _living(started(place, "here"))


@pytest.fixture(scope="package")
def there(place: Path, here: LiveEngine) -> Iterator[LiveEngine]:
    """A second one, for tests of rivals."""
    yield from _living(started(place, "there"))


@pytest.fixture
def target(place: Path, fresh: str) -> Dataset:
    return delta_table(fresh, place)


@pytest.fixture
def ledger(place: Path) -> Iterator[Filled]:
    with open_store(f"sqlite:///{place}/metastore.db") as store:
        yield Filled(store)


def _living(live: LiveEngine) -> Iterator[LiveEngine]:
    live.ready()
    yield live
    live.process.stop(grace=5)
