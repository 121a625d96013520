from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from catchment.store import open_store
from tests.ledgers import Filled


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Filled]:
    """A ledger of the test's own."""
    with open_store(f"sqlite:///{tmp_path}/metastore.db") as store:
        yield Filled(store)
