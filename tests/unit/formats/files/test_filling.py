"""What Spark's list of written files becomes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from catchment.errors import JobError
from catchment.formats.files.filling import staged_files

STAGE = "/lake/.catchment-stage/r.j.o.1"
UUID = "43702519-8b1c-4ec2-aa97-cb8d542c46b7"


def listed(log: Path, *names: str) -> Path:
    """A list as Spark's streaming sink keeps it."""
    log.write_text("\n".join(["v1", *(json.dumps({"path": f"file://{STAGE}/{name}", "size": 7}) for name in names)]))
    return log


def test_files_are_found_below_the_stage(tmp_path: Path) -> None:
    [file] = staged_files(listed(tmp_path / "0", f"p=a%20b/part-00000-{UUID}.c000.csv"), STAGE)
    assert (file.staged, file.bytes) == (f"p=a b/part-00000-{UUID}.c000.csv", 7)
    assert file.path == "p=a b/part-00000-r.j.o.1-43702519.c000.csv"


def test_two_files_for_one_name_are_refused(tmp_path: Path) -> None:
    other = f"{UUID[:9]}0000{UUID[13:]}"
    names = [f"p=1/part-00000-{each}.c000.csv" for each in (UUID, other)]
    with pytest.raises(JobError) as refused:
        staged_files(listed(tmp_path / "0", *names), STAGE)
    assert refused.value.code == "published-name-twice"
