from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from catchment.cli.compact import echo, partition
from catchment.cli.program import program
from catchment.errors import RequestError
from catchment.run.compaction import compaction_job


def test_a_partition_has_a_value_for_each_column() -> None:
    found = partition("day=2026-03-01, region=__HIVE_DEFAULT_PARTITION__,what=a=b")
    assert dict(found.values) == {"day": "2026-03-01", "region": None, "what": "a=b"}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('"region=a,b",day=2026-03-01', {"region": "a,b", "day": "2026-03-01"}),
        ('day=2026-03-01, "region=say ""no"", twice"', {"day": "2026-03-01", "region": 'say "no", twice'}),
        ('region=6" by 9"', {"region": '6" by 9"'}),
        ("region=o'eu\\", {"region": "o'eu\\"}),
        ('"region=two\nlines"', {"region": "two\nlines"}),
    ],
)
def test_what_has_a_comma_is_quoted_as_in_csv(text: str, values: dict[str, str]) -> None:
    assert dict(partition(text).values) == values


@pytest.mark.parametrize("text", ["day", "=5", "day=1,day=2", "", "region=a,b", '"region=a,b', '"region=a"b'])
def test_what_is_no_partition(text: str) -> None:
    with pytest.raises(RequestError) as refused:
        partition(text)
    assert refused.value.code == "bad-option"


@pytest.mark.parametrize(
    ("facts", "printed"),
    [
        ({"partitions": [], "rewritten_files": 0, "dry_run": False}, "nothing to do\n"),
        (
            {
                "partitions": [{"partition": "p=1", "reasons": ["why"], "rewritten_files": 5, "added_files": 1}],
                "rewritten_files": 5,
                "dry_run": False,
            },
            "p=1: 5 files became 1 (why)\n5 rewritten files\n",
        ),
        (
            {
                "partitions": [{"partition": "p=1", "files": 5, "bytes": 1000, "reasons": ["why"], "busy": False}],
                "rewritten_files": 5,
                "merges_manifests": False,
                "expires_snapshots": True,
                "dry_run": True,
            },
            "p=1: 5 files, 1,000 bytes (why)\nwould be: 5 rewritten files\n"
            "old snapshots that nobody needs would be expired\n",
        ),
        (
            {
                "partitions": [],
                "rewritten_files": 0,
                "merges_manifests": True,
                "expires_snapshots": False,
                "dry_run": True,
            },
            "manifests would be merged\n",
        ),
        (
            {"partitions": [{"partition": "", "files": 2, "bytes": 9}], "expected_files": 1, "dry_run": True},
            "(all): 2 files, 9 bytes\nwould be: 1 expected files\n",
        ),
    ],
)
def test_what_is_printed(capsys: pytest.CaptureFixture[str], facts: dict[str, Any], printed: str) -> None:
    echo(facts)
    assert capsys.readouterr().out == printed


def test_a_warehouse_without_a_lock_is_warned_about_on_standard_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(compaction_job, "compact", lambda *_, **__: {"partitions": [], "rewritten_files": 0})
    place = ("--warehouse", "s3a://lake/wh", "--database", "shop", "--table", "orders", "--project", str(tmp_path))
    told = CliRunner().invoke(program, ["compact", *place, "-o", "json"])
    assert "warning[unguarded-depot]" in told.stderr
    assert json.loads(told.stdout)["rewritten_files"] == 0
