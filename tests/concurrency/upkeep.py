"""What people do to tables with Iceberg's own procedures, while others write."""

from __future__ import annotations

from tests.spark.lake import LiveEngine


def expire(engine: LiveEngine, name: str) -> None:
    """Forget the whole history but the newest snapshot."""
    now = engine.value("SELECT date_format(now() + INTERVAL 1 MINUTE, 'yyyy-MM-dd HH:mm:ss')")
    engine.ask(
        f"CALL lake.system.expire_snapshots(table => 'raw.{name}', older_than => TIMESTAMP '{now}', retain_last => 1)"
    )
    assert engine.value(f"SELECT count(*) FROM lake.raw.{name}.snapshots") == 1


def compact(engine: LiveEngine, name: str) -> None:
    """Rewrite every data file."""
    engine.ask(f"CALL lake.system.rewrite_data_files(table => 'raw.{name}', options => map('rewrite-all', 'true'))")
