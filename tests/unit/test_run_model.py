"""The id of a run tells when the run began: a search of a table's history goes back to there."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from catchment.run_model import began_millis, new_run_id

BEGAN = datetime(2026, 3, 1, 0, 30, 15, tzinfo=timezone(timedelta(hours=2)))


def test_a_write_id_tells_when_its_run_began() -> None:
    write_id = f"{new_run_id(BEGAN)}/my-job/out-put"
    assert began_millis(write_id) == int(BEGAN.timestamp() * 1000)


@pytest.mark.parametrize("name", ["r1/job/out", "somebody@host-1a2b3c4d/rewrite/table", "", "2026-03/a/b"])
def test_another_name_does_not_tell(name: str) -> None:
    assert began_millis(name) == 0  # the whole history is searched
