from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from catchment.errors import (
    CatchmentError,
    CommitConflict,
    EngineLost,
    JobError,
    LeaseLost,
    Position,
    RequestError,
    StorageUnavailable,
)
from catchment.plan.model import Expire, Partition, Rewrite, RewriteManifests
from catchment.project.model import Thresholds, Upkeep
from catchment.table_health import MOST_PARTITIONS
from tests.unit.run.compaction.lakes import NOW, TABLE, compactor, lake_of, part


def test_batch_compacts_each_needy_partition_in_a_commit_of_its_own() -> None:
    lake = lake_of(part("a", 6), part("b", 9), part("good"))
    done = compactor(lake).batch()
    assert lake.rewritten() == ["part=b", "part=a"]
    assert (done.rewritten_files, done.added_files, done.compactions, len(done.partitions)) == (15, 2, 2, 2)
    [rewrite, _] = lake.asked
    assert isinstance(rewrite, Rewrite)
    assert rewrite.properties["min-file-size-bytes"] == "1000000"


def test_a_partition_that_no_compaction_helps_is_tried_once() -> None:
    lake = lake_of(part("a", 6), works=False)
    compactor(lake).batch()
    assert lake.rewritten() == ["part=a"]


def test_partitions_of_which_files_are_left_over_have_failed() -> None:
    lake = lake_of(part("a", 6), part("b", 9), left_over=3)
    assert compactor(lake).batch().failed == 2


def test_only_the_partitions_that_were_asked_for_and_the_snapshots_of_the_whole_table() -> None:
    lake = lake_of(part("a", 6), part("b", 9), write_only=True)
    done = compactor(lake, wanted=(Partition({"part": "a"}),)).batch()
    assert (lake.rewritten(), done.expired) == (["part=a"], 1)


def test_write_only_tables_are_expired_and_others_if_a_retention_is_given() -> None:
    for write_only, retention, expected in ((True, None, [None]), (False, None, []), (False, 60.0, [999_940_000])):
        lake = lake_of(part("a", 1), write_only=write_only)
        done = compactor(lake, Upkeep(retention=retention)).batch()
        assert [each.before for each in lake.asked if isinstance(each, Expire)] == expected
        assert done.expired == len(expected)


def test_a_table_whose_files_have_to_stay_is_compacted_and_not_expired() -> None:
    lake, told = lake_of(part("a", 6), write_only=True), list[str]()
    lake.no_expiry = JobError("its files have to stay", code="table-protected")
    assert compactor(lake, tell=told.append).batch().expired == 0
    assert (lake.rewritten(), "table-protected" in told[-1]) == (["part=a"], True)


BROKE = JobError("it broke", code="maintenance-failed")


def test_an_expiry_that_fails_has_failed_and_leaves_the_report_of_the_rest() -> None:
    lake, told = lake_of(part("a", 6), write_only=True, no_expiry=BROKE), list[str]()
    done = compactor(lake, tell=told.append).batch()
    assert (done.failed, done.expired, [each["partition"] for each in done.partitions]) == (1, 0, ["part=a"])
    assert told[-1] == f"{TABLE.address}: snapshots are not expired: error[maintenance-failed]: it broke"


def test_a_merge_of_manifests_that_fails_keeps_no_snapshots() -> None:
    lake, told = lake_of(part("a"), write_only=True, manifests=100, trouble=BROKE), list[str]()
    done = compactor(lake, tell=told.append).batch()
    assert (done.failed, done.expired) == (1, 1)
    assert told[0] == f"{TABLE.address}: manifests are not merged: error[maintenance-failed]: it broke"


@pytest.mark.parametrize("lost", [LeaseLost("somebody else compacts"), EngineLost("gone")])
@pytest.mark.parametrize("task", ["no_expiry", "trouble"])
def test_a_lost_lease_or_engine_ends_it_also_while_it_expires_or_merges(lost: CatchmentError, task: str) -> None:
    more: dict[str, Any] = {task: lost}
    with pytest.raises(type(lost)):
        compactor(lake_of(part("a"), write_only=True, manifests=100, **more)).batch()


def test_continuous_tries_a_merge_that_others_overtake_again_with_growing_pauses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried, now = list[float](), [NOW]
    lake = lake_of(part("a"), manifests=100, trouble=CommitConflict("overtaken"))
    work = compactor(lake, tell=lambda _: tried.append(now[0]))
    work.clock = lambda: now[0]

    def pause(seconds: float) -> bool:
        now[0] += seconds
        if now[0] >= NOW + 100:
            work.stop.set()
        return False

    monkeypatch.setattr(work.stop, "wait", pause)
    assert work.continuous().failed == 0
    assert [later - earlier for earlier, later in pairwise(tried)] == [10, 20, 40]


def test_continuous_tries_an_expiry_that_fails_again_with_growing_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    tried, now = list[float](), [NOW]
    lake = lake_of(part("a"), write_only=True, no_expiry=BROKE)
    work = compactor(lake, tell=lambda _: tried.append(now[0]))
    work.clock = lambda: now[0]

    def pause(seconds: float) -> bool:
        now[0] += seconds
        if len(tried) == 4:
            lake.no_expiry = None
        if work.done.expired == 2:
            work.stop.set()
        return False

    monkeypatch.setattr(work.stop, "wait", pause)
    done = work.continuous()
    assert (done.failed, done.expired) == (4, 2)
    assert [later - earlier for earlier, later in pairwise(tried)] == [10, 20, 40, 80, 3600]


@pytest.mark.parametrize(("manifests", "merged"), [(99, 0), (100, 1)])
def test_many_manifests_are_merged(manifests: int, merged: int) -> None:
    lake = lake_of(part("a"), manifests=manifests)
    compactor(lake).batch()
    assert sum(isinstance(each, RewriteManifests) for each in lake.asked) == merged
    assert compactor(lake_of(part("a"), manifests=100, trouble=CommitConflict("overtaken"))).batch().failed == 0


@pytest.mark.parametrize("left", [1, 150])
def test_continuous_merges_manifests_when_many_have_come(monkeypatch: pytest.MonkeyPatch, left: int) -> None:
    """Also beside a partition that is being written; a table so large that it needs many is left in peace."""
    lake = lake_of(part("busy", 6, changed=NOW), manifests=160, manifests_left=left)
    work = compactor(lake, Upkeep(Thresholds(quiet=60)))
    growth = iter((99, 1, 0))

    def pause(_: float) -> bool:
        more = next(growth)
        lake.manifests, lake.commits = lake.manifests + more, lake.commits + 1
        if more == 0:
            work.stop.set()
        return False

    monkeypatch.setattr(work.stop, "wait", pause)
    work.continuous()
    assert sum(isinstance(each, RewriteManifests) for each in lake.asked) == 2
    assert work.done.partitions == []


def test_continuous_expires_a_quiet_table_once_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    lake, now, passing = lake_of(part("a"), write_only=True), [NOW], iter((3599.0, 1.0, 0.0))
    work = compactor(lake)
    work.clock = lambda: now[0]

    def pause(_: float) -> bool:
        now[0] += (more := next(passing))
        if not more:
            work.stop.set()
        return False

    monkeypatch.setattr(work.stop, "wait", pause)
    assert work.continuous().expired == 2
    assert all(isinstance(each, Expire) for each in lake.asked)


def test_a_conflict_is_the_problem_of_the_compaction() -> None:
    lake, told = lake_of(part("a", 6), trouble=CommitConflict("overtaken")), list[str]()
    done = compactor(lake, tell=told.append).batch()
    assert (done.failed, done.partitions) == (1, [])
    [line] = told
    assert line.startswith(f"{TABLE.address} part=a was not compacted: error[commit-conflict]: overtaken\n    hint: ")


def test_nothing_begins_once_it_is_stopped() -> None:
    lake = lake_of(part("a", 6), part("b", 9), write_only=True)
    work = compactor(lake)
    work.tell = lambda _: work.stop.set()  # told after the first partition
    work.batch()
    assert lake.rewritten() == ["part=b"]
    assert not any(isinstance(each, Expire) for each in lake.asked)


def test_writers_that_wait_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = [True, True, False]
    lake = lake_of(part("a", 6))
    work = compactor(lake, writers_wait=lambda: waiting.pop(0))
    monkeypatch.setattr(work.stop, "wait", lambda _: False)
    work.batch()
    assert (waiting, lake.rewritten()) == ([], ["part=a"])


def test_a_lost_lease_ends_it_before_the_next_partition() -> None:
    lake = lake_of(part("a", 6))

    def lost() -> None:
        raise LeaseLost("somebody else compacts")

    with pytest.raises(LeaseLost):
        compactor(lake, check=lost).batch()
    assert lake.asked == []


def test_continuous_leaves_partitions_that_are_written_and_looks_again_when_something_was_committed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lake = lake_of(part("busy", 6, changed=NOW - 1), part("quiet", 6))
    work = compactor(lake, Upkeep(Thresholds(quiet=60)))
    pauses: list[float] = []

    def pause(seconds: float) -> bool:
        pauses.append(seconds)
        if len(pauses) == 2:
            lake.parts[TABLE.address] = [part("busy", 6)]  # nobody writes it any more
            lake.commits += 1
        if len(pauses) == 4:
            work.stop.set()
        return False

    monkeypatch.setattr(work.stop, "wait", pause)
    done = work.continuous(every=7.0)
    assert lake.rewritten() == ["part=quiet", "part=busy"]
    assert pauses == [7.0] * 4
    assert len(done.partitions) == 2


def test_continuous_compacts_a_partition_that_is_filled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lake = lake_of(part("a", 6))
    work = compactor(lake)

    def pause(_: float) -> bool:
        if len(lake.asked) == 2:
            work.stop.set()
        lake.parts[TABLE.address] = [part("a", 6)]  # exactly as it was before
        lake.commits += 1
        return False

    monkeypatch.setattr(work.stop, "wait", pause)
    work.continuous()
    assert lake.rewritten() == ["part=a", "part=a"]


def test_a_compaction_without_end_lists_what_it_did_last_and_counts_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catchment.run.compaction.compactor.LISTED", 3)
    assert len(compactor(lake_of(*(part(str(number), 6) for number in range(5)))).batch().partitions) == 5
    lake = lake_of(part("0", 6))
    work, later = compactor(lake), iter("1234")

    def pause(_: float) -> bool:
        if name := next(later, None):
            lake.parts[TABLE.address], lake.commits = [part(name, 6)], lake.commits + 1
        else:
            work.stop.set()
        return False

    monkeypatch.setattr(work.stop, "wait", pause)
    done = work.continuous()
    assert [each["partition"] for each in done.partitions] == ["part=2", "part=3", "part=4"]
    assert (done.compactions, done.rewritten_files, done.added_files) == (5, 30, 5)


def test_continuous_has_patience_with_a_store_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    lake, told = lake_of(part("a", 6)), list[str]()
    work = compactor(lake, tell=told.append)
    answers = iter((StorageUnavailable("no answer"), EngineLost("gone")))

    def health(*_: Any) -> None:
        raise next(answers)

    monkeypatch.setattr(lake, "health", health)
    monkeypatch.setattr(work.stop, "wait", lambda _: False)
    with pytest.raises(EngineLost):
        work.continuous()
    assert "no answer" in told[0]


def test_continuous_tries_what_failed_again_after_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    lake, told = lake_of(part("a", 9), part("b", 6)), list[str]()
    lake.trouble = StorageUnavailable("no answer")
    work, now = compactor(lake, tell=told.append), [NOW]
    work.clock = lambda: now[0]
    pauses: list[float] = []

    def pause(seconds: float) -> bool:
        lake.trouble = None
        pauses.append(seconds)
        now[0] += seconds
        if len(pauses) == 3:
            work.stop.set()
        return False

    monkeypatch.setattr(work.stop, "wait", pause)
    done = work.continuous(every=7.0)
    assert lake.rewritten() == ["part=a", "part=b", "part=a"]
    assert (done.failed, pauses, "is compacted later: error[storage-unavailable]" in told[0]) == (1, [7.0] * 3, True)


BROKEN = RequestError("no such value", code="partition-value-invalid", where=Position("workflow.yaml", 7, 3))


def test_a_partition_that_cannot_be_compacted_leaves_the_others_to_be_compacted() -> None:
    lake, told = lake_of(part("a", 9), part("b", 6), broken={"part=a": BROKEN}), list[str]()
    done = compactor(lake, Upkeep(retention=60.0), tell=told.append).batch()
    assert lake.rewritten() == ["part=a", "part=b"]
    assert (done.failed, [each["partition"] for each in done.partitions], done.expired) == (1, ["part=b"], 1)
    assert told[0] == (
        f"{TABLE.address} part=a was not compacted: error[partition-value-invalid]: no such value\n"
        "    at workflow.yaml:7:3"
    )


@pytest.mark.parametrize("more", [{"broken": {"part=a": BROKEN}}, {"works": False, "left_over": 3}])
def test_continuous_tries_what_fails_again_and_again_with_growing_pauses(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    """A partition that is refused, or of which files are left over."""
    tried, now = list[float](), [NOW]
    work = compactor(lake_of(part("a", 9), **more), tell=lambda _: tried.append(now[0] - NOW))
    work.clock = lambda: now[0]

    def pause(seconds: float) -> bool:
        now[0] += seconds
        if now[0] > NOW + 4 * 3600:
            work.stop.set()
        return False

    monkeypatch.setattr(work.stop, "wait", pause)
    assert work.continuous().failed == len(tried)
    pauses = [later - earlier for earlier, later in pairwise(tried)]
    assert pauses == [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600]


def test_deletes_are_applied_where_there_are_some() -> None:
    lake = lake_of(part("a", 6), part("b", delete_files=5))
    compactor(lake).batch()
    applied = {
        str(each.partitions[0]): "delete-file-threshold" in each.properties
        for each in lake.asked
        if isinstance(each, Rewrite)
    }
    assert applied == {"part=a": False, "part=b": True}


def test_a_partition_that_was_tried_in_vain_is_tried_again_when_deletes_come() -> None:
    lake = lake_of(part("a", delete_files=5))
    lake.works = False
    work = compactor(lake)
    work.batch()
    assert work.look()[1] == ()
    lake.parts[TABLE.address] = [part("a", delete_files=6)]
    work.forget()
    assert [need.name for need in work.look()[1]] == ["part=a"]


def test_a_partition_without_files_is_told() -> None:
    lake, told = lake_of(part("a", 6)), list[str]()
    wanted = (Partition({"part": "a"}), Partition({"part": "z"}))
    compactor(lake, tell=told.append, wanted=wanted).batch()
    assert [text for text in told if "no files" in text] == [f"{TABLE.address} part=z has no files: nothing to compact"]


def test_in_a_table_of_very_many_partitions_those_that_are_asked_for_are_found() -> None:
    """Not all of them are listed, and others have more to do."""
    many = (part(str(number), 5) for number in range(MOST_PARTITIONS + 1))
    lake, told = lake_of(*many, part("mine", 3)), list[str]()
    wanted = (Partition({"part": "mine"}), Partition({"part": "z"}))
    compactor(lake, tell=told.append, wanted=wanted).batch()
    assert lake.rewritten() == ["part=mine"]
    assert [text for text in told if "no files" in text] == [f"{TABLE.address} part=z has no files: nothing to compact"]
