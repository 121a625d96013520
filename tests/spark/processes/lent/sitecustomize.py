"""Python imports this module at its start if its directory is in PYTHONPATH.

Every `catchment` that is started with it, the commands of services too, has its engines in the Java of a host that runs
already (see `../attached.py`).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[4]))

from tests.spark.processes.attached import LENT, borrowing

from catchment.engine.launcher import EngineProcess

EngineProcess.__init__ = borrowing(Path(os.environ[LENT]))  # type: ignore[method-assign]
