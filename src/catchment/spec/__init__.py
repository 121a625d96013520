"""YAML text becomes a typed, frozen workflow; positions survive, and every problem is told at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from catchment.spec.model import Loaded

__all__ = ["Loaded", "load"]


def load(path: Path, *, env: Mapping[str, str] | None = None) -> Loaded:
    """Read a workflow file; what is wrong with it becomes diagnostics. Never raises for bad input."""
    # Engines import the canonical model through this package; they must not pay for YAML and its grammar.
    from catchment.spec.loading import load as load_file

    return load_file(path, env=env)
