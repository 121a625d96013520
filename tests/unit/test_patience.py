"""How long writers wait for parts that are away: longer than a server takes to come back."""

from __future__ import annotations

from catchment import store
from catchment.formats.delta import group_commit
from catchment.formats.iceberg import catalogs, consolidate, single_commit
from catchment.formats.paimon import consolidate as paimon

METASTORE_OUTAGE, OUTAGE = 45.0, 60.0


def test_the_metastore_may_be_away_for_45_seconds() -> None:
    assert store.PATIENCE_SECONDS > METASTORE_OUTAGE


def test_catalogs_and_stores_may_be_away_for_a_minute() -> None:
    """The clients of stores have their own patience (`unit/engine/test_settings.py`)."""
    for part in (catalogs, consolidate, single_commit, group_commit, paimon):
        assert part.PATIENCE_SECONDS > OUTAGE
