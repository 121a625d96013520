"""The demo of streams, batches and a compaction beside each other, for a shorter time than people watch it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parent.parent.parent / "examples" / "day-and-night" / "demo.py"


@pytest.mark.slow
@pytest.mark.exhaustive
def test_every_number_is_right_and_every_table_is_compacted(tmp_path: Path) -> None:
    demo = (sys.executable, str(DEMO), "demo-live", "--seconds", "5")
    done = subprocess.run(demo, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok   ") == 9
