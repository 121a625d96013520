"""Failures that Java tells only by their text: executors that end, directories that cannot be made."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment.errors import Retryable
from catchment.formats.failures import _by_directory, _by_executor, _by_rule
from catchment.jvm.causes import Throwable
from tests.disks import read_only
from tests.unit.formats.raised import Raised

LOST = "Lost task 0.1 in stage 39.0 (TID 62) (127.0.0.1 executor 2): ExecutorLostFailure (executor 2 exited "
STANDALONE = f"{LOST}caused by one of the running tasks) Reason: Command exited with code "
YARN = f"{LOST}caused by one of the running tasks) Reason: Container marked as failed: c_1 on host: h. Exit status: "
KUBERNETES = f"{LOST}caused by one of the running tasks) Reason: \nThe executor with id 2 exited with exit code "


@pytest.mark.parametrize("reason", [STANDALONE, YARN, KUBERNETES])
def test_how_an_executor_ended_decides_the_error(reason: str) -> None:
    memory = _by_executor([Throwable(Raised("aborted")), Throwable(Raised(f"{reason}52(JVM OOM).\n"))], "")
    assert memory
    assert (memory.code, isinstance(memory, Retryable)) == ("out-of-memory", False)
    killed = _by_executor([Throwable(Raised(f"{reason}137"))], "")
    assert killed
    assert (killed.code, isinstance(killed, Retryable), "exit code 137" in killed.message) == (
        "executor-lost",
        True,
        True,
    )


def test_a_task_that_an_ending_executor_rejects_can_be_tried_again() -> None:
    rejected = Raised("Task rejected from pool[Shutting down]", "java.util.concurrent.RejectedExecutionException")
    error = _by_rule([Throwable(Raised("aborted")), Throwable(rejected)], "")
    assert error
    assert (error.code, isinstance(error, Retryable)) == ("executor-lost", True)
    assert "spark.executor.memory" in str(error.hint)


def test_other_failures_are_none_of_its_business() -> None:
    assert _by_executor([Throwable(Raised("exited with code 52"))], "") is None
    assert _by_executor([], "") is None


def test_a_directory_that_cannot_be_made_is_asked_for_the_reason(tmp_path: Path) -> None:
    inner = f"Mkdirs failed to create file:{tmp_path}/data/part=1 (exists=false, cwd=file:/)"
    chain = [Throwable(Raised(f"Job aborted: {inner}")), Throwable(Raised(inner))]
    assert _by_directory(chain, "") is None  # it can be made now
    with read_only(tmp_path):
        error = _by_directory(chain, "")
    assert error
    assert (error.code, error.message.startswith(f"the location is read-only: {tmp_path} (Mkdirs")) == (
        "no-permission",
        True,
    )
    assert _by_directory([Throwable(Raised("Mkdirs failed to create s3a://lake/data (exists=false)"))], "") is None
