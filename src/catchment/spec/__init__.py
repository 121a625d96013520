"""Reads YAML text into a typed, frozen workflow. Positions are kept, and every problem is reported at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from catchment.spec.model import Loaded

__all__ = ["Loaded", "load"]


def load(path: Path, *, env: Mapping[str, str] | None = None) -> Loaded:
    """Read a workflow file. Problems become diagnostics; bad input never raises."""
    # Engines import the canonical model through this package; they must not pay for YAML and its grammar.
    from catchment.spec.workflow_file import load as load_file

    return load_file(path, env=env)
