"""The stage of a write: a hidden directory next to the dataset, which readers skip."""

from __future__ import annotations

import hashlib
import re
import uuid
from os.path import ismount

STAGES = ".catchment-stage"
"""Spark, Hive, Arrow and others skip names that begin with a dot."""
LONGEST_NAME = 120
"""Keeps the names of published files below the limits of file systems."""

_RECEIPTS = "._published"
_STAGED = re.compile(r"(part-\d+)-([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(.*)", re.DOTALL)


def new_stage(path: str, write_id: str) -> str:
    """A new stage for one attempt; two attempts at one write never share a stage."""
    return f"{_stages(path.rstrip('/'))}/{_name(write_id)}.{uuid.uuid4().hex[:8]}"


def is_stage_of(name: str, write_id: str) -> bool:
    """Whether a stage may belong to an attempt at this write; different writes may have the same name."""
    return name.rpartition(".")[0] == _name(write_id)


def _name(write_id: str) -> str:
    name = re.sub(r"[^A-Za-z0-9._-]", "_", write_id.replace("/", "."))
    if len(name) > LONGEST_NAME:
        name = f"{name[: LONGEST_NAME - 17]}.{hashlib.sha256(write_id.encode()).hexdigest()[:16]}"
    return name


def _stages(path: str) -> str:
    # Not inside the dataset, because the patterns of some tools match hidden names too.
    parent, _, dataset = path.rpartition("/")
    # Except on a mount point: files cannot be renamed into it from outside.
    return f"{path}/{STAGES}" if ismount(path) else f"{parent}/{STAGES}/.{dataset}"


def dataset_of(buffer: str) -> str | None:
    """The dataset that a stage belongs to; None if the buffer is not a stage."""
    place, found, stage = buffer.rpartition(f"/{STAGES}/")
    dataset, beside, _ = stage.rpartition("/")
    if not found or "/" in dataset or dataset.startswith(".") != bool(beside):
        return None
    return f"{place}/{dataset[1:]}" if beside else place


def from_dataset(buffer: str) -> str:
    """The path of a stage relative to its dataset."""
    _, _, stage = buffer.rpartition(f"/{STAGES}/")
    return f"../{STAGES}/{stage}" if "/" in stage else f"{STAGES}/{stage}"


def stages_of(buffer: str) -> str:
    """The directory of all stages of a dataset, relative to the dataset."""
    return from_dataset(buffer).rpartition("/")[0]


def receipts_of(buffer: str) -> str:
    """The directory of the receipts of a dataset's writes, relative to the dataset."""
    above, _, dataset = stages_of(buffer).rpartition(STAGES)
    return f"{above}{STAGES}/{_RECEIPTS}{dataset}"


def published_name(staged: str, stage: str) -> str:
    """The published name of a staged file. It contains the write and is the same each time it is published."""
    directory, slash, name = staged.rpartition("/")
    write = stage.rpartition("/")[2]
    known = _STAGED.fullmatch(name)
    # Task and counter are not unique: two partition values may share a directory, and Spark counts each from 0.
    named = f"{known[1]}-{write}-{known[2]}{known[3]}" if known else f"part-{write}-{name}"
    return f"{directory}{slash}{named}"


def is_hidden(path: str) -> bool:
    """Whether readers skip a file: a part of its path begins with a dot, or with `_` and is not a partition."""
    parts = path.split("/")
    return any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in parts)
