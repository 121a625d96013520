"""The launcher against workers that behave, die, hang and talk nonsense."""

from __future__ import annotations

import os
import queue
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from catchment.engine import launcher, memory
from catchment.engine.launcher import BackgroundProcess, EngineProcess
from catchment.engine.protocol import Cancel, Done, Failed, Ready, Reply, RunJob
from catchment.errors import EngineLost, EngineOutOfMemory, Position
from catchment.plan.model import EnginePlan, JobPlan
from catchment.project.model import Engine
from catchment.run_model import RunRequest

Message = Reply | EngineLost
HERE = Position("workflow.yaml", 1, 1)


class Bench:
    """Starts scripted workers and collects what they say."""

    def __init__(self, log_dir: Path) -> None:
        self.log_dir = log_dir
        self.messages: queue.Queue[tuple[str, Message]] = queue.Queue()
        self.processes: list[EngineProcess] = []

    def start(
        self, *behaviour: str, secrets: tuple[str, ...] = (), kind: type[EngineProcess] = EngineProcess
    ) -> EngineProcess:
        process = kind.start(
            EnginePlan(key="default", engine=Engine(name="default")),
            log_dir=self.log_dir,
            secrets=secrets,
            inbox=lambda key, message: self.messages.put((key, message)),
            command=(sys.executable, "-m", "tests.unit.engine.scripted_worker", *behaviour),
        )
        self.processes.append(process)
        return process

    def next(self) -> Message:
        key, message = self.messages.get(timeout=60)
        assert key == "default"
        return message

    def lost(self) -> EngineLost:
        message = self.next()
        assert isinstance(message, EngineLost), message
        return message

    def ready(self) -> Ready:
        message = self.next()
        assert isinstance(message, Ready), message
        return message

    def nothing_more(self) -> None:
        time.sleep(0.2)
        assert self.messages.empty()

    def log(self) -> str:
        return (self.log_dir / "engine-default.log").read_text()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path / "logs")
    yield bench
    for process in bench.processes:
        process.kill()


def run_job(attempt: str) -> RunJob:
    return RunJob(attempt, JobPlan("j", "default", HERE), "w", "r", 1, RunRequest("2026-01-01T00:00:00Z"))


def gone(pid: int) -> bool:
    """True once no living process has this pid (a zombie that nobody has collected yet has ended, too)."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


def test_an_engine_in_the_background_lets_others_go_first(bench: Bench) -> None:
    nice = {}
    for kind in (EngineProcess, BackgroundProcess):
        process = bench.start("serve", kind=kind)
        bench.ready()
        assert process._process is not None
        nice[kind] = os.getpriority(os.PRIO_PROCESS, process._process.pid)
    assert nice[BackgroundProcess] == min(nice[EngineProcess] + 10, 19)


def test_commands_are_answered_in_order_and_the_log_is_kept(bench: Bench) -> None:
    process = bench.start("serve")
    for attempt in ("a", "b"):
        process.send(run_job(attempt))
    bench.ready()
    assert [bench.next(), bench.next()] == [Done("a", ()), Done("b", ())]
    process.stop(grace=10)
    bench.nothing_more()
    assert bench.log() == "working on a\nworking on b\n"


def test_a_worker_that_exits_is_lost_with_code_and_last_words(bench: Bench) -> None:
    bench.start("leave", "7")
    lost = bench.lost()
    assert lost.code == "engine-lost"
    assert "exit code 7" in lost.message
    assert "the disk is on fire" in lost.message
    assert lost.hint is not None
    assert "engine-default.log" in lost.hint
    bench.nothing_more()


def test_a_worker_whose_java_ran_out_of_memory_says_so_by_its_exit_code(bench: Bench) -> None:
    bench.start("leave", str(memory.EXIT_CODE))
    lost = bench.lost()
    assert (type(lost), lost.code) == (EngineOutOfMemory, "out-of-memory")
    assert "engine default ran out of memory and ended; it had 1g (spark.driver.memory is not set)" in lost.message
    assert "engine-default.log" in str(lost.hint)


def test_on_a_cluster_the_memory_of_executors_counts_too() -> None:
    engine = Engine(name="big", master="spark://somewhere:7077")
    lost = memory.out_of_memory(EnginePlan("big-2", engine, conf={"spark.executor.memory": "8g"}), "the log")
    assert lost.message.endswith("it had 1g (spark.driver.memory is not set) and 8g (spark.executor.memory)")
    assert "raise spark.driver.memory or spark.executor.memory in `conf` of engine big" in str(lost.hint)


@pytest.mark.parametrize(("java", "passed_on"), [(52, 52), (3, 52), (1, 1), (-9, 1), (143, 1), (None, 1)])
def test_what_a_worker_passes_on_of_the_end_of_its_java(java: int | None, passed_on: int) -> None:
    assert memory.exit_code(java) == passed_on


def test_a_killed_worker_is_lost_with_its_signal(bench: Bench) -> None:
    bench.start("die")
    assert "SIGKILL" in bench.lost().message


@pytest.mark.parametrize(("behaviour", "said"), [("babble", "Hello, I am no reply"), ("old", "protocol version 0")])
def test_a_worker_that_talks_nonsense_is_ended(bench: Bench, behaviour: str, said: str) -> None:
    process = bench.start(behaviour)
    assert said in bench.lost().message
    assert process._process is not None
    assert gone(process._process.pid)


def test_a_silent_worker_is_ended(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "SILENCE_SECONDS", 5.0)  # long enough for a Python to start on a busy machine
    bench.start("deaf")
    worker = int(bench.ready().application_id)
    lost = bench.lost()
    assert "did not respond" in lost.message
    assert "it has 1g" in str(lost.hint)
    assert gone(worker)


@pytest.mark.slow
def test_a_silent_worker_whose_java_left_the_mark_ran_out_of_memory(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "SILENCE_SECONDS", 5.0)
    bench.start("choke")
    bench.ready()
    assert isinstance(bench.lost(), EngineOutOfMemory)


def test_a_refused_start_is_a_failure_and_not_a_loss(bench: Bench) -> None:
    bench.start("refuse")
    failed = bench.next()
    assert isinstance(failed, Failed)
    assert (failed.attempt, failed.code, failed.setup) == (None, "java-missing", True)
    bench.nothing_more()


def test_a_worker_that_does_not_stop_is_killed_after_its_grace(bench: Bench) -> None:
    process = bench.start("deaf")
    worker = int(bench.ready().application_id)
    began = time.monotonic()
    process.stop(grace=0.3)
    assert time.monotonic() - began < 15
    assert gone(worker)
    bench.nothing_more()


def test_the_children_of_a_worker_end_with_it(bench: Bench) -> None:
    process = bench.start("with_child")
    child = int(bench.ready().application_id)
    process.kill()
    assert gone(child)


def test_the_children_of_a_worker_that_died_are_ended(bench: Bench) -> None:
    process = bench.start("with_child")
    child = int(bench.ready().application_id)
    assert process._process is not None
    process._process.terminate()
    assert "SIGTERM" in bench.lost().message
    assert gone(child)


def test_secrets_do_not_reach_the_log_or_the_message(bench: Bench) -> None:
    process = bench.start("say", "password", "hunter22", secrets=("hunter22",))
    bench.ready()
    assert process._process is not None
    process._process.terminate()
    assert "hunter22" not in bench.lost().message
    assert bench.log() == "password ***\n"


def test_an_engine_can_be_stopped_at_any_time_and_twice(bench: Bench) -> None:
    process = bench.start("serve")
    process.stop(grace=10)
    process.stop(grace=0)
    process.kill()
    process.send(Cancel("a"))
    while not bench.messages.empty():
        assert isinstance(bench.next(), Ready)


def test_a_worker_that_cannot_be_started_is_a_failure(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file where the directory should be")
    bench.start("serve")
    failed = bench.next()
    assert isinstance(failed, Failed)
    assert failed.code == "engine-not-started"
