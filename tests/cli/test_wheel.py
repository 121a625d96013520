"""The wheel works where there is nothing else of the project: no checkout, no Makefile, another directory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.cli.pages import ROOT
from tests.matrices import EXHAUSTIVE

pytestmark = list(EXHAUSTIVE)
UV = Path(sys.executable).parent / "uv"


def run(*command: str | Path, cwd: Path) -> str:
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(each) for each in command], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_wheel_in_an_empty_environment_runs_the_first_workflow(tmp_path: Path) -> None:
    constraints = ("--build-constraints", ROOT / "requirements-build.txt", "--require-hashes")
    run(UV, "build", "--wheel", "--out-dir", tmp_path / "dist", *constraints, ROOT, cwd=tmp_path)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    run(UV, "venv", "--python", sys.executable, tmp_path / "env", cwd=tmp_path)
    python, catchment = (tmp_path / "env" / "bin" / name for name in ("python", "catchment"))
    run(UV, "pip", "install", "--python", python, wheel, cwd=tmp_path)
    place = run(python, "-c", "import catchment; print(catchment.__file__)", cwd=tmp_path)
    assert Path(place.strip()).is_relative_to(tmp_path / "env")
    run(catchment, "init", "shop", cwd=tmp_path)
    assert "valid" in run(catchment, "validate", "shop/orders.yaml", cwd=tmp_path)
    assert "succeeded" in run(catchment, "run", "shop/orders.yaml", cwd=tmp_path)
    orders = "SELECT count(*) AS orders FROM lakehouse.shop.orders"
    assert run(catchment, "query", "--project", "shop", orders, "-o", "csv", cwd=tmp_path).split() == ["orders", "5"]
