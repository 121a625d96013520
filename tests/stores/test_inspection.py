"""Tables on S3, in PostgreSQL and in a REST catalog, inspected without an engine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from catchment.formats.metadata_reading import NeedsEngine
from catchment.plan.model import Dataset
from tests import both_ways
from tests.spark.inspecting import EVERYTHING, looked_at, refusal
from tests.spark.lake import by, table, writing
from tests.stores.lakes import Lake, appending

pytestmark = pytest.mark.slow

NESTED = (
    "SELECT id, named_struct('a', array(map('k', id)), 'b', CAST(id AS DECIMAL(9, 3))) AS nested FROM range(0, 4, 1, 1)"
)


def test_an_iceberg_table(lake: Lake, fresh: str) -> None:
    lake.here.run(writing(NESTED, table(fresh)), run="r-1")
    lake.here.ask(f"ALTER TABLE lake.raw.{fresh} ALTER COLUMN nested.b COMMENT 'a price'")
    lake.here.ask(f"ALTER TABLE lake.raw.{fresh} ADD PARTITION FIELD truncate(2, id)")
    lake.there.ask(f"INSERT INTO lake.raw.{fresh} {NESTED}")
    found = looked_at(lake.here, table(fresh), EVERYTHING)
    assert (found["table"]["rows"], len(found["files"]["files"])) == (8, 3)
    assert refusal(lake.here, table("nothing")) == "table-not-found"
    assert refusal(lake.here, table("nothing", namespace="nowhere")) == "table-not-found"


def test_icebergs_own_client_of_s3(on_s3: Lake, fresh: str) -> None:
    place = table(fresh, "iceberg-s3")
    on_s3.here.run(appending(fresh, 0, "job", "iceberg-s3"))
    looked_at(on_s3.here, place, EVERYTHING)


def test_a_store_that_refuses_is_left_to_an_engine(on_s3: Lake, fresh: str) -> None:
    on_s3.here.run(appending(fresh, 0, "job"))
    depot = on_s3.depot("lake")
    wrong = replace(depot, conf={**depot.conf, "spark.hadoop.fs.s3a.secret.key": "wrong-secret-value"})
    plan = replace(on_s3.here.plan, depots=(wrong,))
    with pytest.raises(NeedsEngine):
        both_ways.read(plan, "table", wrong, table(fresh))


def test_delta_and_files_on_s3(on_s3: Lake, fresh: str) -> None:
    events = on_s3.depot("events")
    place = f"{events.location}/raw/{fresh}"
    delta = Dataset(f"dataos://events:raw/{fresh}", "events", "delta", "raw", fresh, place)
    for run in ("r-1", "r-2", "r-3"):
        on_s3.here.run(writing("SELECT id, 'eu' AS part FROM range(3)", delta, mode="append"), run=run)
    assert looked_at(on_s3.here, delta, ("table", "snapshots", "files"))["table"]["rows"] == 9
    assert refusal(on_s3.here, replace(delta, path=f"{place}-not-there")) == "table-not-found"
    drop = Dataset(f"dataos://bucket:none/{fresh}", "bucket", "parquet", path=f"s3a://lake/drop/{fresh}")
    on_s3.here.run(writing("SELECT id, id % 2 AS part FROM range(4)", drop, partitions=(by("identity", "part"),)))
    found = both_ways.read_health(on_s3.here.plan, drop, None)
    assert (found, found.partition_count) == (on_s3.here.health(drop), 2)
