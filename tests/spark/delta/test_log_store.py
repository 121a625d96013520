"""The log store of ours: of two commits of one version, the disk refuses the second, without any lease."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment.engine import packages
from catchment.plan.model import Dataset
from tests.spark.lake import LiveEngine, writing
from tests.spark.racing import race

ROUNDS = 40


@pytest.mark.exhaustive
@pytest.mark.slow  # VACUUM starts thousands of tasks
def test_statements_that_look_into_the_log_from_tasks_find_it(here: LiveEngine, target: Dataset) -> None:
    here.run(writing("SELECT id FROM range(5)", target, mode="append"))
    here.ask(f"VACUUM {target.identifier}")
    assert here.value(f"SELECT count(*) FROM {target.identifier}") == 5


@pytest.mark.slow
def test_of_two_commits_of_one_version_one_is_refused(here: LiveEngine, tmp_path: Path) -> None:
    log = tmp_path / "t" / "_delta_log"
    spark = packages.install(here.plan, print)
    won = race(str(log), (spark, spark), {}, ROUNDS)
    assert all(one != two for one, two in won)
    names = [(log / f"{version:020}.json").read_text() for version in range(ROUNDS)]
    assert names == ["one\n" if one else "two\n" for one, _ in won]
    assert len(list(log.iterdir())) == ROUNDS  # no drafts and no probes
