"""How streaming jobs are spelled: every form of the dialect becomes one."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment.spec.streaming import Streaming
from tests.unit.spec.marked import changed, load_text

STACK = "          job:\n"
OPTIONS = "options: {saveMode: append}"


def read(directory: Path, text: str) -> Streaming | None:
    loaded = load_text(directory, text)
    assert not [each for each in loaded.diagnostics if each.is_error]
    assert loaded.workflow is not None
    return loaded.workflow.jobs[0].streaming


def streaming(text: str) -> str:
    return changed(STACK, STACK + f"            streaming: {text}\n")


@pytest.mark.parametrize(
    ("text", "trigger", "interval"),
    [
        ("{outputMode: append}", "back-to-back", None),
        ("{triggerMode: Once}", "available-now", None),
        ("{triggerMode: OneTime, batchMode: true}", "available-now", None),
        ("{triggerMode: availablenow, foreachBatchMode: true}", "available-now", None),
        ("{triggerMode: ProcessingTime, triggerDuration: 10 seconds}", "processing-time", 10.0),
        ("{triggerMode: ProcessingTime, triggerDuration: 500 ms}", "processing-time", 0.5),
        ("{triggerMode: ProcessingTime, triggerDuration: 1 Minute}", "processing-time", 60.0),
        ("{triggerMode: ProcessingTime, triggerDuration: 1m30s}", "processing-time", 90.0),
        ("{triggerMode: ProcessingTime, triggerDuration: 2 hours}", "processing-time", 7200.0),
    ],
)
def test_triggers(tmp_path: Path, text: str, trigger: str, interval: float | None) -> None:
    found = read(tmp_path, streaming(text))
    assert found is not None
    assert (found.trigger, found.interval, found.output_mode) == (trigger, interval, "append")


@pytest.mark.parametrize(
    "text",
    [
        streaming("{checkpointLocation: ./here}"),
        changed(OPTIONS, OPTIONS + ", checkpointLocation: ./here"),
        changed(OPTIONS, "options: {saveMode: append, checkpointLocation: ./here}"),
        streaming("{checkpointLocation: ./here}").replace(OPTIONS, OPTIONS + ", checkpointLocation: ./here"),
    ],
)
def test_the_checkpoint_is_in_one_of_three_places(tmp_path: Path, text: str) -> None:
    found = read(tmp_path, text)
    assert found is not None
    assert found.checkpoint == "./here"


def test_a_job_that_says_nothing_of_streams_has_no_settings_of_one(tmp_path: Path) -> None:
    assert read(tmp_path, changed(OPTIONS, OPTIONS + ", isStream: false")) is None
    assert read(tmp_path, changed(OPTIONS, OPTIONS + ", isStream: true")) is not None
