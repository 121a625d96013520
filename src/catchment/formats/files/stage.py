"""The stage of a write: a hidden directory beside the dataset, named after the write, that no reader looks into."""

from __future__ import annotations

import hashlib
import re
import uuid
from os.path import ismount

STAGES = ".catchment-stage"
"""Spark, Hive, Arrow and their kin skip names that begin with a dot, whatever follows."""
LONGEST_NAME = 120
"""So that the names of published files stay below what file systems take."""

_STAGED = re.compile(r"(part-\d+)-([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(.*)", re.DOTALL)


def new_stage(path: str, write_id: str) -> str:
    """A stage for one attempt: two attempts at one write never share a directory."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", write_id.replace("/", "."))
    if len(name) > LONGEST_NAME:
        name = f"{name[: LONGEST_NAME - 17]}.{hashlib.sha256(write_id.encode()).hexdigest()[:16]}"
    return f"{_stages(path.rstrip('/'))}/{name}.{uuid.uuid4().hex[:8]}"


def _stages(path: str) -> str:
    # Beside the dataset: some tools' patterns match hidden names as well, and would find staged files below it.
    parent, _, dataset = path.rpartition("/")
    # A volume of its own is the exception: nothing can be renamed into it from outside.
    return f"{path}/{STAGES}" if ismount(path) else f"{parent}/{STAGES}/.{dataset}"


def dataset_of(buffer: str) -> str | None:
    """The dataset that a stage belongs to; None for the buffer of a table."""
    place, found, stage = buffer.rpartition(f"/{STAGES}/")
    dataset, beside, _ = stage.rpartition("/")
    if not found or "/" in dataset or dataset.startswith(".") != bool(beside):
        return None
    return f"{place}/{dataset[1:]}" if beside else place


def from_dataset(buffer: str) -> str:
    """A stage as it is reached from its dataset."""
    _, _, stage = buffer.rpartition(f"/{STAGES}/")
    return f"../{STAGES}/{stage}" if "/" in stage else f"{STAGES}/{stage}"


def published_name(staged: str, stage: str) -> str:
    """The name that a staged file gets: it tells the write, and is the same however often it is published."""
    directory, slash, name = staged.rpartition("/")
    write = stage.rpartition("/")[2]
    known = _STAGED.fullmatch(name)
    # Task and counter are not enough: two values of a partition may share a directory, and Spark counts for each anew.
    named = f"{known[1]}-{write}-{known[2]}{known[3]}" if known else f"part-{write}-{name}"
    return f"{directory}{slash}{named}"


def is_hidden(path: str) -> bool:
    """Whether readers skip a file: a part of its path begins with a dot or, not being a partition, with `_`."""
    parts = path.split("/")
    return any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in parts)
