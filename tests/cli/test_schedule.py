"""`catchment schedule` and `catchment ticks` as people use them; the how-to, done as it is written but for the cron."""

from __future__ import annotations

import json
import re
import signal
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import catchment
from tests.cli import pages, program, projects

TICK = {"workflow", "tick", "status", "reason", "run_id", "starts", "seconds", "error", "scheduler"}


def write(root: Path, name: str, schedule: str, file: str | None = None) -> None:
    text = projects.workflow(name, projects.job("one", "SELECT trip_id FROM trips"))
    (root / (file or f"{name}.yaml")).write_text(text.replace("  dag:", f"  schedule: {schedule}\n  dag:"))


def test_the_next_ticks_are_listed_and_nothing_is_started(tmp_path: Path) -> None:
    projects.make(tmp_path)
    write(tmp_path, "nightly", "{cron: '30 2 * * *', timezone: Europe/Berlin}")
    write(tmp_path, "yearly", "{cron: '0 0 1 1 *', timezone: UTC, endOn: '2020-01-01T00:00:00Z'}")
    arguments = ("schedule", "--dry-run", "--count", "3", "nightly.yaml", "yearly.yaml")
    answer = program.call(*arguments, "-o", "json", cwd=tmp_path)
    ticks = answer.data["ticks"]
    assert [(tick["workflow"], tick["file"]) for tick in ticks] == [("nightly", "nightly.yaml")] * 3
    assert all(re.search(r"T0[01]:30:00\+00:00$", tick["tick"]) for tick in ticks)
    assert all(datetime.fromisoformat(tick["local"]) == datetime.fromisoformat(tick["tick"]) for tick in ticks)
    assert program.call(*arguments, cwd=tmp_path).out.count("02:30:00 CE") == 3
    assert not (tmp_path / ".catchment").exists()


def test_a_scheduler_whose_schedules_are_over_leaves(tmp_path: Path) -> None:
    projects.make(tmp_path)
    write(tmp_path, "over", "{cron: '0 0 * * *', timezone: UTC, endOn: '2020-01-01T00:00:00Z'}")
    answer = program.call("schedule", "over.yaml", cwd=tmp_path)
    assert (answer.code, answer.out, answer.err) == (0, "", "over: 0 0 * * *: no tick is left\n")
    assert program.call("ticks", "-o", "json", cwd=tmp_path).data == {"ticks": []}
    assert program.call("ticks", cwd=tmp_path).err == "no ticks yet\n"


def test_what_cannot_be_followed_is_refused(tmp_path: Path) -> None:
    projects.make(tmp_path)
    daily = "{cron: '0 0 * * *', timezone: UTC}"
    write(tmp_path, "a", daily)
    write(tmp_path, "a", daily, "b.yaml")
    write(tmp_path, "wrong", "{cron: '0 0 * *', timezone: UTC}")
    projects.make(tmp_path / "other")
    write(tmp_path / "other", "c", daily)
    (tmp_path / "plain.yaml").write_text(projects.workflow("plain", projects.job("one", "SELECT 1")))
    for files, code in {
        ("plain.yaml",): "no-schedule",
        ("a.yaml", "b.yaml"): "duplicate-workflow",
        ("a.yaml", "other/c.yaml"): "several-metastores",
        ("wrong.yaml",): "bad-cron",
    }.items():
        answer = program.call("schedule", *files, cwd=tmp_path)
        assert (answer.code, answer.out) == (2, ""), answer.err
        assert f"error[{code}]" in answer.err
        assert "hint:" in answer.err


def test_a_tick_that_nobody_claimed_is_not_run(tmp_path: Path) -> None:
    projects.make(tmp_path)
    write(tmp_path, "a", "{cron: '0 0 * * *', timezone: UTC}")
    answer = program.call("run", "a.yaml", "--tick", "2026-01-01T00:00:00+00:00", cwd=tmp_path)
    assert (answer.code, "error[tick-not-found]" in answer.err) == (2, True)
    assert program.call("run", "a.yaml", "--tick", "2026-01-01T00:00:00", cwd=tmp_path).code == 2


@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_how_to(tmp_path: Path) -> None:
    project = tmp_path
    program.call("init", cwd=project)
    projects.shadow(project)
    text = pages.files("docs/how-to/schedule.md")["nightly.yaml"]
    flow = project / "nightly.yaml"
    flow.write_text(text.replace('"30 2 * * *"', '"*/2 * * * * *"'))
    with program.begin("schedule", flow.name, "-o", "json", cwd=project) as running:
        program.wait_until(lambda: _succeeded(project) or running.process.poll() is not None, "a tick succeeds", 120)
        running.process.send_signal(signal.SIGTERM)
        answer = running.finish(30)
    assert running.family() == {}
    settled = [json.loads(line) for line in answer.out.splitlines()]
    assert all(set(line) == TICK for line in settled)
    first = next(line for line in settled if line["run_id"])
    assert (first["status"], first["workflow"], first["starts"]) == ("succeeded", "nightly-orders", 1)
    assert {line["status"] for line in settled} <= {"succeeded", "skipped", "cancelled"}
    assert "is not over" in next(line["reason"] for line in settled if line["status"] == "skipped")
    (day,) = {
        row[0] for row in catchment.open(project).query("SELECT loaded_on FROM lakehouse.marts.orders_by_day").rows
    }
    assert str(day) == first["tick"][:10]
    assert (
        f"run {first['run_id']} of nightly-orders: succeeded" in program.call("logs", first["run_id"], cwd=project).out
    )
    assert f"starting run {first['run_id']}" in answer.err
    once = program.call("run", flow.name, cwd=project)
    assert once.code == 0
    assert "nightly-orders runs once, now; `catchment schedule nightly.yaml` follows its schedule" in once.err


def _succeeded(project: Path) -> list[dict[str, Any]]:
    ticks = program.call("ticks", "nightly-orders", "-o", "json", cwd=project).data["ticks"]
    return [tick for tick in ticks if tick["status"] == "succeeded"]
