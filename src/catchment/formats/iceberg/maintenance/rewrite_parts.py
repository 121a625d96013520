"""Splits a large rewrite into several commits, so that a conflict costs one part of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from catchment.plan.model import Rewrite

COMMIT_BYTES = 8 * 1024**3
COMMIT_FILES = 2000
"""What a part rewrites at most; a minute or two of work."""
MOST_COMMITS = 100
PROGRESS = "partial-progress.enabled"
PROGRESS_COMMITS = "partial-progress.max-commits"
GROUP_BYTES, GROUP_FILES = "max-file-group-size-bytes", "max-file-group-input-files"


@dataclass(frozen=True)
class Amount:
    """An amount of data files."""

    files: int
    bytes: int


def may_be_split(operation: Rewrite) -> bool:
    """Whether a rewrite may be committed in parts.

    One that sorts is not: rows are sorted within a part. One that rewrites all files is not: it could not continue
    after a conflict. If the request says something of partial progress, that is what is done.
    """
    everything = operation.properties.get("rewrite-all", "false").lower() == "true"
    return operation.strategy != "sort" and not everything and PROGRESS not in operation.properties


def bounded(properties: Mapping[str, str], *, by_files: bool) -> dict[str, str]:
    """The properties of a rewrite with groups of files that are small enough for one commit each.

    Iceberg for Spark 3.5 cannot limit the number of files in a group (`by_files`).
    """
    files = {GROUP_FILES: str(COMMIT_FILES)} if by_files else {}
    return {GROUP_BYTES: str(COMMIT_BYTES), **files, **properties}


def commits_for(amount: Amount, properties: Mapping[str, str]) -> int:
    """How many commits rewrite so many files, with groups of the size that the properties allow."""
    by_bytes = _parts(amount.bytes, properties.get(GROUP_BYTES))
    by_files = _parts(amount.files, properties.get(GROUP_FILES))
    return min(MOST_COMMITS, max(1, by_bytes, by_files))


def in_commits(properties: Mapping[str, str], commits: int) -> dict[str, str]:
    """The properties of a rewrite that Iceberg commits group by group."""
    return {**properties, PROGRESS: "true", PROGRESS_COMMITS: str(commits)}


def total(amounts: Iterable[Amount]) -> Amount:
    """The sum of all amounts."""
    every = list(amounts)
    return Amount(sum(each.files for each in every), sum(each.bytes for each in every))


def _parts(amount: int, limit: str | None) -> int:
    # What is no number is refused by the rewrite itself.
    return -(-amount // int(limit)) if limit and limit.isdecimal() and int(limit) else 1
