from __future__ import annotations

from collections.abc import Callable

import pytest

from catchment.plan.model import Dataset
from tests.ledgers import Filled
from tests.spark.hosts import Host
from tests.spark.lake import LiveEngine, paimon_table


@pytest.fixture
def here(older: Host) -> LiveEngine:
    """An engine for every test that needs nothing special of it."""
    return older


@pytest.fixture
def there(start_older: Callable[..., LiveEngine]) -> LiveEngine:
    """A second one, for tests of rivals."""
    return start_older(key="there")


@pytest.fixture
def target(fresh: str) -> Dataset:
    return paimon_table(fresh)


@pytest.fixture
def ledger(filled: Filled) -> Filled:
    return filled
