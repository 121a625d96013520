"""The check that keeps formats in their folders: seen to fail, so that it can."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHECK = Path(__file__).parents[2] / "tools" / "check-names"


@pytest.mark.parametrize(
    ("file", "line", "passes"),
    [
        ("run/lake.py", 'if depot.kind == "delta":', False),
        ("plan/jobs.py", "# Iceberg tables only", False),
        ("engine/settings.py", "class_of_parquet = 1", False),
        ("spec/reading/outputs.py", "write Parquet", False),
        ("spec/reading/outputs.py", "options.iceberg", True),
        ("formats/iceberg/writing.py", 'if name == "iceberg":', True),
        ("run/schedule/due.py", "from datetime import timedelta", True),
        ("cli/demo.py", '"""Two jobs write one Iceberg table."""', True),
    ],
)
def test_a_format_is_named_in_its_folder_only(tmp_path: Path, file: str, line: str, *, passes: bool) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(f"{line}\n")
    done = subprocess.run([sys.executable, CHECK, tmp_path], capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == passes, done.stdout
    assert passes or f"{file}:1" in done.stdout
