"""The program `catchment`, whose engines use the Java of a host that runs already; everything else is as it is."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from catchment.engine.launcher import EngineProcess
from catchment.plan.model import EnginePlan

GATEWAY_FILE = "CATCHMENT_TEST_GATEWAY_FILE"
"""The same as in `tests.spark.hosts`."""
LENT = "CATCHMENT_TEST_LENT_GATEWAY_FILE"
"""Where `lent/sitecustomize.py` finds the file."""
GUEST = (sys.executable, str(Path(__file__).parent / "guest.py"))

_made = EngineProcess.__init__


def way_to(gateway_file: Path) -> dict[str, str]:
    """The variables with which a guest finds the Java and the pyspark of the host that wrote the file."""
    found = json.loads(gateway_file.read_text())
    return {
        "PYSPARK_GATEWAY_PORT": str(found["port"]),
        "PYSPARK_GATEWAY_SECRET": found["secret"],
        "PYTHONPATH": found["path"],
    }


def borrowing(gateway_file: Path) -> Callable[..., None]:
    """What makes an `EngineProcess` that starts guests of the host that wrote the file."""
    way = way_to(gateway_file)

    def make(self: EngineProcess, engine: EnginePlan, *, command: Any, **more: Any) -> None:
        _made(self, replace(engine, envs={**engine.envs, **way}), command=command or GUEST, **more)

    return make


if __name__ == "__main__":
    from catchment.cli import main

    EngineProcess.__init__ = borrowing(Path(os.environ.pop(GATEWAY_FILE)))  # type: ignore[method-assign]
    sys.argv[0] = "catchment"
    main()
