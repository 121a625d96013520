"""Which snapshots may be forgotten: by age, by number, by the rules of branches, and by who may still read them."""

from __future__ import annotations

from typing import Any

import pytest

from catchment.errors import JobError
from catchment.formats.iceberg.maintenance.expiry import DAY_MS, FILES, MANY_SNAPSHOTS, MAX_AGE, History
from catchment.plan.model import Expire

NOW = 1000 * DAY_MS


def history(
    *ages: int, refs: dict[str, Any] | None = None, log: tuple[tuple[int, int], ...] = (), **more: Any
) -> History:
    """A line of snapshots, numbered from 1, so many days old; `refs` beside main; `log` as (days, snapshot)."""
    snapshots = [
        {"snapshot-id": number, "timestamp-ms": NOW - age * DAY_MS, "parent-snapshot-id": number - 1 or None}
        for number, age in enumerate(ages, start=1)
    ]
    main = {"main": {"type": "branch", "snapshot-id": len(ages)}} if ages else {}
    entries = [{"snapshot-id": number, "timestamp-ms": NOW - age * DAY_MS} for age, number in log]
    return History({"snapshots": snapshots, "refs": {**main, **(refs or {})}, "snapshot-log": entries, **more})


def tag(snapshot: int) -> dict[str, Any]:
    return {"type": "tag", "snapshot-id": snapshot}


def branch(snapshot: int, **rules: int) -> dict[str, Any]:
    own = {key.replace("_", "-"): value for key, value in rules.items()}
    return {"type": "branch", "snapshot-id": snapshot, **own}


@pytest.mark.parametrize(
    ("operation", "gone"),
    [
        (Expire(), (1, 2)),
        (Expire(NOW - 3 * DAY_MS), (1, 2, 3)),
        (Expire(NOW + DAY_MS), (1, 2, 3, 4)),
        (Expire(NOW + DAY_MS, retain_last=3), (1, 2)),
        (Expire(0), ()),
        (Expire(snapshot_ids=("3", "1")), (1, 3)),
    ],
)
def test_by_age_and_number(operation: Expire, gone: tuple[int, ...]) -> None:
    assert history(20, 10, 4, 2, 0).expired(operation, NOW) == gone


def test_the_table_may_say_its_own_age() -> None:
    assert history(20, 10, 4, 0, properties={MAX_AGE: str(15 * DAY_MS)}).expired(Expire(), NOW) == (1,)


def test_what_branches_and_tags_need_stays() -> None:
    found = history(20, 19, 18, 17, 0, refs={"june": tag(2), "audit": branch(4)})
    assert found.expired(Expire(), NOW) == (1, 3)
    keeps = history(20, 19, 18, 0, refs={"audit": branch(3, min_snapshots_to_keep=2)})
    assert keeps.expired(Expire(), NOW) == (1,)
    aged = history(20, 19, 18, 0, refs={"audit": branch(3, max_snapshot_age_ms=19 * DAY_MS)})
    assert aged.expired(Expire(), NOW) == (1,)


def test_what_is_on_no_line_goes_by_its_age() -> None:
    found = history(20, 1, 0, refs={"main": branch(1)})  # rolled back to the first
    assert found.expired(Expire(), NOW) == ()
    assert found.expired(Expire(NOW), NOW) == (2,)


def test_named_snapshots_must_be_there_and_free() -> None:
    found = history(3, 2, 1, 0, refs={"june": tag(2)})
    for snapshot, retain, code in (
        (9, 1, "snapshot-not-found"),
        (4, 1, "snapshot-in-use"),
        (2, 1, "snapshot-in-use"),
        (3, 2, "snapshot-in-use"),
    ):
        with pytest.raises(JobError) as refused:
            found.expired(Expire(snapshot_ids=(str(snapshot),), retain_last=retain), NOW)
        assert refused.value.code == code


@pytest.mark.parametrize(("days", "seen"), [(0, {5}), (3, {3, 4, 5}), (4, {3, 4, 5}), (11, {1, 2, 3, 4, 5})])
def test_a_reader_sees_what_was_current_since_it_began(days: int, seen: set[int]) -> None:
    assert history(20, 10, 4, 2, 0).current_since(NOW - days * DAY_MS) == seen


def test_a_reader_may_have_seen_other_branches() -> None:
    found = history(20, 10, 5, 0, refs={"main": branch(2), "audit": branch(1)})
    assert found.current_since(NOW - 4 * DAY_MS) == {1, 2, 4}


@pytest.mark.parametrize(("days", "seen"), [(1, {1}), (3, {1, 2}), (7, {1, 2}), (12, {1, 2})])
def test_a_reader_may_have_seen_what_was_rolled_back(days: int, seen: set[int]) -> None:
    rolled_back = history(20, 10, refs={"main": branch(1)}, log=((20, 1), (10, 2), (2, 1)))
    assert rolled_back.current_since(NOW - days * DAY_MS) == seen


def test_whoever_goes_on_from_a_snapshot_needs_all_that_came_of_it() -> None:
    found = history(20, 10, 4, 2, 0, refs={"main": branch(4)})
    assert [sorted(found.after(snapshot)) for snapshot in (3, 5, 9)] == [[3, 4, 5], [5], []]


def test_rules_of_a_branch_take_what_they_take() -> None:
    assert history(20, 10, 0).by_own_rule(NOW) == frozenset()
    ruled = history(20, 10, 0, refs={"main": branch(3, max_snapshot_age_ms=15 * DAY_MS)})
    assert ruled.by_own_rule(NOW) == {1}
    also = history(20, 10, 0, refs={"main": branch(3, max_snapshot_age_ms=15 * DAY_MS), "audit": branch(1)})
    assert also.by_own_rule(NOW) == frozenset()


def test_an_expiry_of_few_files_needs_no_spark_jobs() -> None:
    def with_files(*counts: str | None) -> History:
        summaries = [{} if count is None else {FILES: count} for count in counts]
        return History({"snapshots": [{"snapshot-id": n, "summary": each} for n, each in enumerate(summaries)]})

    assert with_files("3", "99999").is_small
    assert not with_files("3", "100000").is_small
    assert not with_files("3", None).is_small
    assert not with_files(*["1"] * MANY_SNAPSHOTS).is_small
