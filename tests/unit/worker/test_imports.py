"""A worker whose first job comes while it is still importing Spark."""

from __future__ import annotations

import subprocess
import sys

import pytest

from catchment.engine import protocol, wire
from catchment.engine.protocol import Reply, RunQuery, Start
from catchment.plan.model import EnginePlan
from catchment.project.model import Engine


@pytest.mark.parametrize("_", range(2))
def test_a_job_that_comes_at_once_does_not_disturb_the_start(_: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    scratch = tmp_path_factory.mktemp("scratch")
    nowhere = Engine("e", master="spark://127.0.0.1:1")  # all is imported, then there is no master, and no Java needed
    start = Start(EnginePlan("k", nowhere), (), str(scratch), str(scratch))
    worker = subprocess.run(
        [sys.executable, "-m", "catchment.worker.worker"],
        input=wire.encode(start) + wire.encode(RunQuery("a", "SELECT 1", None)),
        stdout=subprocess.PIPE,
        start_new_session=True,
        check=False,
    )
    assert [reply.code for reply in _failures(worker.stdout)] == ["master-unreachable"]


def _failures(output: bytes) -> list[protocol.Failed]:
    replies: list[Reply] = [wire.reply(line) for line in output.splitlines()]
    return [reply for reply in replies if isinstance(reply, protocol.Failed)]
