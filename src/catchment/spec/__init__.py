"""Reads YAML text into a typed, frozen workflow. Positions are kept, and every problem is reported at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from catchment.spec.boundary import Boundary
    from catchment.spec.model import Loaded
    from catchment.spec.variable_value import Value


def load(
    path: Path,
    *,
    env: Mapping[str, str] | None = None,
    boundary: Boundary | None = None,
    variables: Mapping[str, Value] | None = None,
    given: Mapping[str, str] | None = None,
) -> Loaded:
    """Read a workflow file. Problems become diagnostics; bad input never raises.

    The files that it includes must be within the boundary: by default, the directory of the workflow. `variables` are
    those of its project; `given` are values for variables that it declares itself.
    """
    # Engines import the canonical model through this package; they must not pay for YAML and its grammar.
    from catchment.spec.workflow_file import load as load_file

    return load_file(path, env=env, boundary=boundary, variables=variables, given=given)
