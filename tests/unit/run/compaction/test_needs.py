from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catchment import project
from catchment.errors import Position, RequestError
from catchment.plan.model import Partition
from catchment.project.model import Thresholds
from catchment.run.compaction.needs import Need, needs_of
from catchment.table_health import PartitionHealth, table_health
from tests.unit.run.compaction.lakes import NOW, SMALL, TABLE, TARGET, part

LIMITS = Thresholds(small_files=5, delete_files=3, level0_files=4, age=3600, quiet=60)


def needs(*parts: PartitionHealth, wanted: tuple[Partition, ...] = ()) -> dict[str, Need]:
    found = table_health(TABLE.address, "1", (TARGET, SMALL), parts)
    return {need.name: need for need in needs_of(found, LIMITS, NOW, wanted)}


def test_each_threshold_alone_is_enough_and_is_told() -> None:
    found = needs(
        part("small", 5), part("few", 4), part("deletes", delete_files=3), part("runs", level0_files=4), part("good")
    )
    assert {name: need.reasons for name, need in found.items()} == {
        "part=small": ("5 small files (the limit is 5)",),
        "part=deletes": ("3 delete files (the limit is 3)",),
        "part=runs": ("4 files of level 0 (the limit is 4)",),
    }


def test_what_a_compaction_reads_are_the_small_files_unless_others_have_to_be_read_beside_them() -> None:
    whole: dict[str, Any] = {"bytes": 1000, "small_files": 5, "small_bytes": 50}
    for more, expected in (
        ({}, 50),
        ({"delete_files": 3}, 1000),
        ({"level0_files": 4}, 1000),
        ({"small_bytes": 0}, 1000),
    ):
        [need] = needs(replace(part("a"), **{**whole, **more})).values()
        assert need.cost == expected


def test_old_leftovers_are_merged_below_the_thresholds() -> None:
    old, single = part("old", 2, changed=NOW - 3600), part("single", 1, changed=NOW - 9999)
    found = needs(old, single, part("new", 2, changed=NOW - 3599))
    assert list(found) == ["part=old"]
    assert "nothing was added for 3600 s" in found["part=old"].reasons[0]


def test_a_partition_is_busy_after_a_commit_unless_it_is_far_above() -> None:
    found = needs(part("busy", 19, changed=NOW - 59), part("far", 20, changed=NOW), part("quiet", 5, changed=NOW - 60))
    assert {name: need.busy for name, need in found.items()} == {
        "part=far": False,
        "part=busy": True,
        "part=quiet": False,
    }


def test_files_of_an_earlier_partitioning_wait_until_the_whole_table_is_quiet() -> None:
    """Their rewrite takes every partition along."""
    earlier, name = PartitionHealth(None, 90, 900, 90, changed=NOW - 600), "(files of an earlier partitioning)"
    assert needs(earlier, part("quiet", changed=NOW - 60))[name].busy is False
    assert needs(earlier, part("good", changed=NOW - 59))[name].busy is True
    assert needs(earlier, part("far", 99, changed=NOW - 59))[name].busy is True


def test_those_with_the_most_to_do_come_first() -> None:
    assert list(needs(part("b", 6), part("c", 9), part("a", 6))) == ["part=c", "part=a", "part=b"]


def test_named_partitions_need_no_threshold_but_something_to_merge() -> None:
    wanted = tuple(Partition({"part": name}) for name in ("two", "one"))
    assert list(needs(part("two", 2), part("one", 1), part("many", 9), wanted=wanted)) == ["part=two"]


def test_files_of_an_earlier_partitioning_and_tables_without_partitions_have_names() -> None:
    found = needs(PartitionHealth(None, 9, 90, 9), PartitionHealth({}, 9, 90, 9))
    assert set(found) == {"(all)", "(files of an earlier partitioning)"}
    assert found["(all)"].partition is None


def test_a_limit_that_files_never_outgrow_is_refused() -> None:
    with pytest.raises(RequestError) as refused:
        needs_of(table_health(TABLE.address, "1", (TARGET, TARGET), ()), LIMITS, NOW)
    assert refused.value.code == "threshold-never-met"


def test_a_limit_that_files_never_outgrow_has_a_place_in_the_project_file(tmp_path: Path) -> None:
    file = tmp_path / "catchment.yaml"
    limit = "maintain:\n  lake:\n    small_file_size: 8MB\n"
    file.write_text(f"depots:\n  lake: {{kind: iceberg, location: ./lake}}\n{limit}")
    thresholds = project.load(tmp_path).maintain["lake"].thresholds
    with pytest.raises(RequestError) as refused:
        needs_of(table_health(TABLE.address, "1", (TARGET, TARGET), ()), thresholds, NOW)
    assert (refused.value.code, refused.value.where) == ("threshold-never-met", Position(str(file.resolve()), 5, 22))
