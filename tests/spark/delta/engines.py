"""Engines that know Delta tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.spark.lake import LiveEngine, delta_depot, engine_plan, lake_depot


def started(place: Path, key: str, **more: Any) -> LiveEngine:
    """An engine that knows a depot of Delta tables and one of Iceberg tables."""
    return LiveEngine(engine_plan(delta_depot(place), lake_depot(place), key=key, **more), place / f"logs-{key}")
