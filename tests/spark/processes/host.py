"""The worker, as it is, but for one thing: it tells where the gateway to its Java is, so that guests can use it too."""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from catchment.worker import session, worker

GATEWAY_FILE = "CATCHMENT_TEST_GATEWAY_FILE"
"""The same as in `tests.spark.hosts`."""

_launch = session._launch


def launch(settings: Any) -> Any:
    """Start Java, and leave port and secret of its gateway."""
    gateway = _launch(settings)
    parameters = gateway.java_parameters
    file = Path(os.environ[GATEWAY_FILE])
    # Guests need the same pyspark as their host.
    way = {"port": parameters.port, "secret": parameters.auth_token, "path": os.environ.get("PYTHONPATH", "")}
    file.with_suffix(".new").write_text(json.dumps(way))
    file.with_suffix(".new").replace(file)
    return gateway


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[3]))
    importlib.import_module("tests.formats")
    session._launch = launch
    worker.main()
