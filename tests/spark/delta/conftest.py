from __future__ import annotations

from pathlib import Path

import pytest

from catchment.plan.model import Dataset
from tests.ledgers import Filled
from tests.spark.hosts import Host
from tests.spark.lake import LiveEngine, delta_table


@pytest.fixture
def place(root: Path) -> Path:
    """Where the depots of these tests live."""
    return root


@pytest.fixture
def here(engine: Host) -> LiveEngine:
    """An engine for every test that needs nothing special of it."""
    return engine


@pytest.fixture
def there(elsewhere: Host) -> LiveEngine:
    """A second one, for tests of rivals."""
    return elsewhere


@pytest.fixture
def target(place: Path, fresh: str) -> Dataset:
    return delta_table(fresh, place)


@pytest.fixture
def ledger(filled: Filled) -> Filled:
    return filled
