"""Which commits come along when a branch is brought forward, told from a table's metadata alone."""

from __future__ import annotations

from typing import Any

import pytest

from catchment.errors import JobError
from catchment.formats.iceberg.changes.refs import plan_forward


def metadata(refs: dict[str, int], **parents: int | None) -> dict[str, Any]:
    """Snapshots `s1`, `s2`, … with their parents."""
    return {
        "refs": {name: {"snapshot-id": head, "type": "branch"} for name, head in refs.items()},
        "snapshots": [{"snapshot-id": int(name[1:]), "parent-snapshot-id": up} for name, up in parents.items()],
    }


LINE: dict[str, int | None] = {"s1": None, "s2": 1, "s3": 2}


def test_the_commits_between_come_along_in_their_order() -> None:
    found = plan_forward(metadata({"main": 1, "audit": 3}, **LINE), "audit", "main")
    assert (found.before, found.after, found.commits) == (1, 3, (2, 3))


@pytest.mark.parametrize("audit", [1, 2, 3])
def test_nothing_comes_along_where_everything_is_there_already(audit: int) -> None:
    found = plan_forward(metadata({"main": 3, "audit": audit}, **LINE), "audit", "main")
    assert (found.before, found.after, found.commits) == (3, 3, ())


def test_main_without_a_commit_takes_everything() -> None:
    found = plan_forward(metadata({"audit": 2}, **LINE), "audit", "main")
    assert (found.before, found.commits) == (None, (1, 2))


def test_an_expired_past_is_no_obstacle_as_long_as_main_is_in_the_line() -> None:
    found = plan_forward(metadata({"main": 2, "audit": 3}, s2=1, s3=2), "audit", "main")
    assert found.commits == (3,)


def test_commits_that_would_be_lost_are_counted() -> None:
    with pytest.raises(JobError, match="main has 2 commits that audit does not have") as failed:
        plan_forward(metadata({"main": 3, "audit": 4}, **LINE, s4=1), "audit", "main")
    assert failed.value.code == "branch-diverged"


def test_a_branch_that_is_not_there_is_told() -> None:
    with pytest.raises(JobError) as failed:
        plan_forward(metadata({"main": 1}, s1=None), "audit", "main")
    assert (failed.value.code, failed.value.hint) == ("branch-not-found", "its branches are main")
