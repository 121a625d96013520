from __future__ import annotations

from typing import Any

import pytest

from catchment.errors import CommitConflict, EngineLost, JobError, StorageUnavailable
from catchment.plan.model import Expire, Partition, Rewrite, RewriteManifests
from catchment.project.model import Thresholds, Upkeep
from catchment.run.compaction.compactor import TableCompactor
from tests.unit.run.compaction.lakes import NOW, TABLE, FakeLake, part

Parts = list[Any]


def compactor(lake: FakeLake, upkeep: Upkeep | None = None, **more: Any) -> TableCompactor:
    return TableCompactor(lake, TABLE, upkeep or Upkeep(), "somebody", clock=lambda: NOW, **more)


def lake_of(*parts: Any, **more: Any) -> FakeLake:
    return FakeLake({TABLE.address: list(parts)}, **more)


def test_batch_compacts_each_needy_partition_in_a_commit_of_its_own() -> None:
    lake = lake_of(part("a", 6), part("b", 9), part("good"))
    done = compactor(lake).batch()
    assert lake.rewritten() == ["part=b", "part=a"]
    assert (done.rewritten_files, done.added_files, len(done.partitions)) == (15, 2, 2)
    [rewrite, _] = lake.asked
    assert isinstance(rewrite, Rewrite)
    assert rewrite.properties["min-file-size-bytes"] == "1000000"


def test_a_partition_that_no_compaction_helps_is_tried_once() -> None:
    lake = lake_of(part("a", 6), works=False)
    compactor(lake).batch()
    assert lake.rewritten() == ["part=a"]


def test_only_the_partitions_that_were_asked_for() -> None:
    lake = lake_of(part("a", 6), part("b", 9))
    compactor(lake, wanted=(Partition({"part": "a"}),)).batch()
    assert lake.rewritten() == ["part=a"]


def test_write_only_tables_are_expired_and_others_if_a_retention_is_given() -> None:
    for write_only, retention, expected in ((True, None, [None]), (False, None, []), (False, 60.0, [999_940_000])):
        lake = lake_of(part("a", 1), write_only=write_only)
        done = compactor(lake, Upkeep(retention=retention)).batch()
        assert [each.before for each in lake.asked if isinstance(each, Expire)] == expected
        assert done.expired == len(expected)


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


def test_a_conflict_is_the_problem_of_the_compaction_and_other_errors_end_it() -> None:
    lake, told = lake_of(part("a", 6), trouble=CommitConflict("overtaken")), list[str]()
    done = compactor(lake, tell=told.append).batch()
    assert (done.failed, done.partitions) == (1, [])
    [line] = told
    assert line.startswith(f"{TABLE.address} part=a was not compacted: error[commit-conflict]: overtaken\n    hint: ")
    for error in (JobError("broken"), EngineLost("gone")):
        with pytest.raises(type(error)):
            compactor(lake_of(part("a", 6), trouble=error)).batch()


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
        raise JobError("somebody else compacts")

    with pytest.raises(JobError):
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
    work = compactor(lake, tell=told.append)
    pauses: list[float] = []

    def pause(seconds: float) -> bool:
        lake.trouble = None
        pauses.append(seconds)
        if len(pauses) == 2:
            work.stop.set()
        return False

    monkeypatch.setattr(work.stop, "wait", pause)
    done = work.continuous(every=7.0)
    assert lake.rewritten() == ["part=a", "part=b", "part=a"]
    assert (done.failed, pauses, "is compacted later: error[storage-unavailable]" in told[0]) == (1, [7.0] * 2, True)


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
