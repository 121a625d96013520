"""What an engine finds on the machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Installed:
    """Everything an engine needs, in place."""

    jars: tuple[str, ...] = ()
    python_path: tuple[str, ...] = ()
    """Goes in front of PYTHONPATH."""
    spark_home: str | None = None
    java_options: tuple[str, ...] = ()
