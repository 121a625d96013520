"""Schedulers as real processes: every tick has one run, policies hold between them. Only the engines are scripted."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from catchment.run.schedule.tick_reports import TickReport
from tests.concurrency.schedule.conftest import Project, wait_until
from tests.servers import postgres
from tests.servers.postgres import PostgresServer

EVERY_SECOND = "* * * * * *"
EVERY_2_SECONDS = "*/2 * * * * *"


def once(flow: Project) -> dict[str, str]:
    """Every tick that ran, with its run; checks that no run was begun twice and that each knew its tick's time."""
    begun = flow.begun()
    assert len({run for run, _ in begun}) == len(begun), "a run was begun twice"
    ran = {tick.run_id: tick.tick.isoformat() for tick in flow.ticks() if tick.run_id}
    assert dict(begun).items() <= ran.items(), "a run without its tick, or with another time"
    assert len({time for _, time in begun}) == len(begun), "a tick ran twice"
    return dict(begun)


def of(status: str, flow: Project) -> list[TickReport]:
    return [tick for tick in flow.ticks() if tick.status == status]


@pytest.mark.slow
def test_ticks_run_with_their_own_time_and_the_story_is_told(quick: Project) -> None:
    quick.write("", cron=EVERY_2_SECONDS, concurrencyPolicy="Forbid")
    with quick.scheduler() as scheduler:
        wait_until(lambda: len(of("succeeded", quick)) >= 2, "two ticks have succeeded")
        scheduler.signal(signal.SIGTERM)
        assert scheduler.ends() == 0
    first, second = [each for each in scheduler.settled if each["run_id"]][:2]
    assert (first["workflow"], first["status"], first["error"], first["starts"]) == ("flow", "succeeded", None, 1)
    ticks = [datetime.fromisoformat(each["tick"]) for each in (first, second)]
    assert ticks[0] < ticks[1]
    assert all(tick.second % 2 == tick.microsecond == 0 for tick in ticks)
    assert len(once(quick)) >= 2
    assert f"starting run {first['run_id']}" in scheduler.told
    assert "flow: */2 * * * * *: next tick" in scheduler.told


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    running = postgres.start()
    yield running
    running.stop()


@pytest.mark.slow
@pytest.mark.exhaustive
def test_two_schedulers_share_the_ticks_on_a_server(quick: Project, server: PostgresServer) -> None:
    (quick.root / "catchment.yaml").write_text(
        f"metastore: {server.url}\ndepots:\n  lake: {{kind: iceberg, location: ./lake}}\n"
    )
    test_two_schedulers_share_the_ticks(quick)


@pytest.mark.slow
def test_two_schedulers_share_the_ticks(quick: Project) -> None:
    quick.write("", cron=EVERY_SECOND, concurrencyPolicy="Forbid")
    with quick.scheduler() as one, quick.scheduler() as two:
        wait_until(lambda: len(of("succeeded", quick)) >= 3, "three ticks have succeeded")
        for each in (one, two):
            each.signal(signal.SIGTERM)
            each.ends()
    assert len(once(quick)) >= 3
    told = [each["tick"] for each in one.settled + two.settled]
    assert len(told) == len(set(told)), "a tick was reported twice"


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_file_that_becomes_wrong_fails_its_ticks_and_nothing_else(quick: Project) -> None:
    quick.write("", cron=EVERY_SECOND, concurrencyPolicy="Forbid")
    good = quick.file.read_text()
    with quick.scheduler():
        wait_until(lambda: of("succeeded", quick), "a tick succeeds")
        quick.put(good.replace("flare:7.0", "flair:7.0"))
        wait_until(lambda: of("failed", quick), "a tick fails")
        quick.put(good)
        count = len(of("succeeded", quick))
        wait_until(lambda: len(of("succeeded", quick)) > count, "a tick succeeds again")
    error = of("failed", quick)[0].error
    assert error
    assert (error.code, error.file, bool(error.line and error.hint)) == ("unsupported-stack", str(quick.file), True)
    assert of("failed", quick)[0].reason == "its workflow cannot be run"


@pytest.mark.slow
def test_a_changed_schedule_is_followed(quick: Project) -> None:
    quick.write("", cron="0 0 1 1 *")
    with quick.scheduler() as scheduler:
        wait_until(lambda: "next tick" in scheduler.told, "the schedule is read")
        quick.put_forward(3)  # seconds that the new rule would have ticked in, had it been there
        changed = quick.now()
        quick.write("", cron=EVERY_SECOND, catchup="all", concurrencyPolicy="Forbid")
        wait_until(lambda: of("succeeded", quick), "a tick succeeds")
        quick.write("", cron="0 0 1 1 *")
        wait_until(lambda: scheduler.told.count("next tick 20") >= 3, "the file is read once more")
    assert quick.ticks()[0].tick > changed, "a tick from before the change"


def test_a_schedule_is_followed_again_when_it_comes_back_and_has_missed_nothing(quick: Project) -> None:
    quick.write("", cron=EVERY_SECOND, catchup="all", concurrencyPolicy="Forbid")
    with quick.scheduler() as scheduler:
        wait_until(lambda: of("succeeded", quick), "a tick succeeds")
        quick.write("")
        wait_until(lambda: "has no schedule now" in scheduler.told, "the file is read without a schedule")
        wait_until(lambda: not quick.processes("tick"), "its last run is over")
        without = quick.now()
        quick.put_forward(3)
        back = quick.now()
        quick.write("", cron=EVERY_SECOND, catchup="all", concurrencyPolicy="Forbid")
        wait_until(lambda: any(tick.tick > back for tick in quick.ticks()), "it ticks again")
    second = timedelta(seconds=1)
    assert not [tick for tick in quick.ticks() if without + second < tick.tick < back - second]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_allowed_runs_overlap(flow: Project) -> None:
    flow.write("hang", cron=EVERY_2_SECONDS, concurrencyPolicy="Allow")
    with flow.scheduler() as scheduler:
        wait_until(lambda: len(flow.trace("begin")) >= 2, "two runs at once")
        scheduler.signal(signal.SIGTERM)
        scheduler.ends()
    assert len(flow.trace("end")) >= 2, "runs were not cancelled in good order"
    assert {tick.status for tick in flow.ticks()} == {"cancelled"}
    assert {each["status"] for each in scheduler.settled} == {"cancelled"}
    once(flow)


@pytest.mark.slow
def test_a_forbidden_tick_is_skipped_while_a_run_of_another_scheduler_goes_on(quick: Project) -> None:
    quick.write("hang", cron=EVERY_SECOND, concurrencyPolicy="Forbid")
    with quick.scheduler() as one:
        wait_until(lambda: quick.trace("begin"), "a run")
        with quick.scheduler() as two:
            wait_until(lambda: two.settled, "the other scheduler skips a tick")
            assert {each["status"] for each in two.settled} == {"skipped"}
            run = quick.trace("begin")[0]["run"]
            assert two.settled[0]["reason"] == f"run {run} of an earlier tick is not over"
        one.signal(signal.SIGTERM)
        one.ends()
    assert len(quick.trace("begin")) == 1


@pytest.mark.slow
def test_a_tick_replaces_the_run_of_another_scheduler(flow: Project) -> None:
    flow.write("hang", cron="0 * * * *", concurrencyPolicy="Replace")
    with flow.scheduler() as one:
        wait_until(lambda: "next tick" in one.told, "the schedule is read")
        flow.put_forward_to_the_hour()
        wait_until(lambda: flow.trace("begin"), "a run")
        one.signal(signal.SIGSTOP)  # it cannot lend a hand: the run hears it from the metastore
        with flow.scheduler(lease=30.0) as two:
            wait_until(lambda: "next tick" in two.told, "the other one has begun")
            flow.put_forward_to_the_hour()
            wait_until(lambda: len(flow.trace("begin")) >= 2, "another run in its place")
            two.signal(signal.SIGTERM)
            two.ends()
    first, second = flow.trace("begin")[:2]
    ended = next(line for line in flow.trace("end") if line["reference_time"] == first["reference_time"])
    assert ended["at"] <= second["at"], "the new run began before the old one was over"
    old = flow.ticks()[0]
    assert (old.status, old.reason) == ("cancelled", "a later tick takes its place")
    once(flow)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_at_the_end_of_the_schedule_runs_are_ended_and_the_scheduler_leaves(quick: Project) -> None:
    end = quick.now() + timedelta(hours=1)
    quick.write("hang", cron=EVERY_2_SECONDS, endOn=end.isoformat(timespec="seconds"), concurrencyPolicy="Forbid")
    with quick.scheduler() as scheduler:
        wait_until(lambda: quick.trace("begin"), "a run")
        quick.put_forward(3600)
        assert scheduler.ends() == 0
    ran = [tick for tick in quick.ticks() if tick.run_id]
    assert [(tick.status, tick.reason) for tick in ran] == [("cancelled", "its schedule has come to its end")]
    assert all(tick.tick <= end for tick in quick.ticks())
    assert len(quick.trace("end")) == 1


@pytest.mark.slow
def test_a_second_signal_ends_at_once(quick: Project) -> None:
    quick.write("stubborn", cron=EVERY_2_SECONDS, concurrencyPolicy="Forbid")
    with quick.scheduler(cancel=600.0) as scheduler:
        wait_until(lambda: quick.trace("begin"), "a run")
        scheduler.signal(signal.SIGINT)
        wait_until(lambda: "to stop at once" in scheduler.told, "it has heard the first one")
        assert scheduler.process.poll() is None, "it waits for its run"
        scheduler.signal(signal.SIGINT)
        assert scheduler.ends() == -signal.SIGINT
    assert quick.processes("tick") == []
    (run,) = {run for run, _ in quick.begun()}
    (tick,) = [tick for tick in quick.ticks() if tick.run_id]
    assert (tick.run_id, tick.status) == (run, "cancelled")
