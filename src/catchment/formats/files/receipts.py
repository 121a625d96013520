"""Records of writes in the dataset itself, in case the metastore was replaced by an older copy.

Before the first change, the plan of a write is stored in its stage; after the last one, a receipt is stored beside the
stages. So the plan of a write whose publishing has begun is found with its files, whatever the ledger says. A write
with a receipt is never published again, even if later writes have replaced its files.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from catchment.formats.files.stage import from_dataset, is_stage_of, receipts_of, stages_of
from catchment.formats.files.storage import Storage
from catchment.store.writes import Contents, Entry

PLAN = ".plan"
"""The name of a plan in its stage."""
MOST_RECEIPTS = 10_000
"""How many of a dataset's newest receipts are kept. An older copy of the metastore may lack that many writes."""


@dataclass(frozen=True)
class Record:
    """A write whose publishing has begun: what it consists of, and the stage that its files were in."""

    write_id: str
    stage: str
    contents: Contents

    def text(self) -> str:
        return json.dumps(asdict(self))


def plan_of(storage: Storage, stage: str) -> Record | None:
    """The plan in a stage; None if its publishing has not begun."""
    return _record(storage.read(f"{from_dataset(stage)}/{PLAN}"))


def keep_plan(storage: Storage, write: Entry, planned: Contents) -> Contents:
    """Store the plan of a write in its stage, unless it has one; returns the stored one."""
    stage = write.intent.buffer
    storage.record(f"{from_dataset(stage)}/{PLAN}", Record(write.write_id, stage, planned).text())
    kept = plan_of(storage, stage)
    return kept.contents if kept else planned


def drop_plan(storage: Storage, stage: str) -> None:
    """Forget that the stage was to be published: its write is refused."""
    storage.remove([f"{from_dataset(stage)}/{PLAN}"])


def receipt_of(storage: Storage, stage: str, write_id: str) -> Record | None:
    """The receipt of a write; None if it was never published completely."""
    return _record(storage.read(_receipt(stage, write_id)))


def keep_receipt(storage: Storage, write: Entry) -> None:
    """Remember that a write is published. Every 256th one removes receipts that are too old."""
    sums = write.contents or Contents((), 0, 0, 0)
    done = Record(write.write_id, write.intent.buffer, Contents((), sums.rows, sums.bytes, sums.files))
    name = _receipt(write.intent.buffer, write.write_id)
    storage.record(name, done.text())
    if name.rpartition("/")[2].startswith("00"):
        remove_old_receipts(storage, write.intent.buffer)


def remove_old_receipts(storage: Storage, stage: str, keep: int = MOST_RECEIPTS) -> None:
    """Remove all receipts of a dataset but the newest ones."""
    directory = receipts_of(stage)
    if old := storage.newest(directory)[keep:]:
        storage.remove([f"{directory}/{name}" for name in old])


def begun_before(storage: Storage, stage: str, write_id: str) -> Record | None:
    """The record of a write that an earlier attempt published at least in part; `stage` is that of a new attempt."""
    if (receipt := receipt_of(storage, stage, write_id)) is not None:
        return receipt
    directory, above = stages_of(stage), stage.rpartition("/")[0]
    attempts = (f"{above}/{name}" for name in storage.newest(directory) if is_stage_of(name, write_id))
    plans = (plan_of(storage, attempt) for attempt in attempts)
    return next((plan for plan in plans if plan and plan.write_id == write_id), None)


def _receipt(stage: str, write_id: str) -> str:
    return f"{receipts_of(stage)}/{hashlib.sha256(write_id.encode()).hexdigest()[:40]}"


def _record(text: str | None) -> Record | None:
    if text is None:
        return None
    known: dict[str, Any] = json.loads(text)
    contents = known["contents"]
    return Record(
        known["write_id"], known["stage"], Contents(**contents | {"descriptors": tuple(contents["descriptors"])})
    )
