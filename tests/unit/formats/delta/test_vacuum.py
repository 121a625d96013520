"""Which files VACUUM leaves alone."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from sqlalchemy import update

from catchment.formats.delta.log import Head
from catchment.formats.delta.vacuum import Vacuum
from catchment.maintain.retention import Retention
from catchment.plan.model import Dataset, Expire
from catchment.store.schema import writes
from tests.ledgers import TARGET, Filled

RENAMED = Dataset("dataos://events:raw/renamed", "events", "delta", "raw", "renamed", "/events/raw/t")


def test_files_of_a_sealed_write_stay_after_its_table_was_renamed(filled: Filled) -> None:
    nothing: Any = None
    head = Head(3, "uuid", nothing, (), {}, {}, nothing)
    needs = Retention(filled.store, RENAMED.target)
    vacuum = Vacuum(nothing, RENAMED, needs, nothing, Expire(), nothing, head)
    filled.seal("r/j/sealed", target=TARGET)
    with filled.store.database.writing() as connection:
        connection.execute(update(writes).values(opened=1000.0))
    assert vacuum._limits(())["unfinished writes"] < 1000_000.0
    of_another_table = replace(vacuum, head=replace(head, id="another"))
    assert of_another_table._limits(())["unfinished writes"] > (time.time() - 3600) * 1000
