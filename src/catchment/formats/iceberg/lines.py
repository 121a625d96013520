"""Lines of snapshots in a table's metadata: what a branch has, and how it came to that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from catchment.errors import JobError


def current(metadata: Mapping[str, Any]) -> int | None:
    """The snapshot that readers of main see; None where there is none yet."""
    found = metadata.get("current-snapshot-id")
    return None if found in (None, -1) else int(found)


def line(metadata: Mapping[str, Any], head: int | None) -> list[int]:
    """A snapshot and its ancestors, as far as the history goes, oldest first."""
    parents = {entry["snapshot-id"]: entry.get("parent-snapshot-id") for entry in metadata.get("snapshots", ())}
    found: list[int] = []
    while head is not None and head in parents:
        found.append(head)
        head = parents[head]
    return found[::-1]


def branch_head(metadata: Mapping[str, Any], branch: str) -> int:
    """The head of a branch; an error where there is no such branch."""
    refs = metadata.get("refs", {})
    if branch not in refs or refs[branch]["type"] != "branch":
        known = ", ".join(sorted(name for name, ref in refs.items() if ref["type"] == "branch"))
        raise JobError(
            f"the table has no branch {branch}",
            code="branch-not-found",
            hint=f"its branches are {known}" if known else "nothing was written to it yet",
        )
    return int(refs[branch]["snapshot-id"])


def snapshot_of(metadata: Mapping[str, Any], text: object) -> int:
    """The snapshot that a text names; an error where the table has no such snapshot."""
    known = [int(entry["snapshot-id"]) for entry in metadata.get("snapshots", ())]
    if str(text).isdigit() and int(str(text)) in known:
        return int(str(text))
    raise JobError(
        f"the table has no snapshot {text}",
        code="snapshot-not-found",
        hint="`catchment table snapshots` lists them" if known else "nothing was written to it yet",
    )
