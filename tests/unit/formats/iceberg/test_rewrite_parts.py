"""Large rewrites become several commits, small ones stay one."""

from __future__ import annotations

import pytest

from catchment.formats.iceberg.maintenance.rewrite_parts import (
    COMMIT_BYTES,
    COMMIT_FILES,
    MOST_COMMITS,
    Amount,
    bounded,
    commits_for,
    in_commits,
    may_be_split,
)
from catchment.plan.model import Rewrite


@pytest.mark.parametrize(
    ("amount", "properties", "commits"),
    [
        (Amount(0, 0), {}, 1),
        (Amount(COMMIT_FILES, COMMIT_BYTES), {}, 1),
        (Amount(COMMIT_FILES + 1, 10), {}, 2),
        (Amount(10, 3 * COMMIT_BYTES), {}, 3),
        (Amount(10**9, 10), {}, MOST_COMMITS),
        (Amount(6, 10), {"max-file-group-input-files": "2"}, 3),
        (Amount(6, 10), {"max-file-group-size-bytes": "4"}, 3),
        (Amount(6, 10), {"max-file-group-size-bytes": "many"}, 1),
    ],
)
def test_the_amount_decides_how_many_commits(amount: Amount, properties: dict[str, str], commits: int) -> None:
    assert commits_for(amount, bounded(properties, by_files=True)) == commits


@pytest.mark.parametrize(
    ("operation", "split"),
    [
        (Rewrite(), True),
        (Rewrite(properties={"rewrite-all": "false"}), True),
        (Rewrite(properties={"rewrite-all": "TRUE"}), False),
        (Rewrite("sort", "id"), False),
        (Rewrite(properties={"partial-progress.enabled": "false"}), False),
    ],
)
def test_what_may_be_split(operation: Rewrite, split: bool) -> None:
    assert may_be_split(operation) is split


def test_what_somebody_asks_for_goes_first() -> None:
    made = in_commits(bounded({"max-file-group-size-bytes": "7", "min-input-files": "2"}, by_files=False), 4)
    assert "max-file-group-input-files" not in made
    assert made["max-file-group-size-bytes"] == "7"
    assert (made["min-input-files"], made["partial-progress.max-commits"]) == ("2", "4")
