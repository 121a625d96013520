"""What the doctor says about depots that are servers."""

from __future__ import annotations

import socket

from catchment.cli.doctor import check_depot
from catchment.project.model import Depot
from tests.servers.s3 import free_port


def test_one_server_that_answers_is_enough() -> None:
    away = free_port()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        [check] = check_depot(Depot("broker", "kafka", f"127.0.0.1:{away},127.0.0.1:{port}"))
    assert (check.name, check.status) == ("depot broker", "ok")
    [check] = check_depot(Depot("broker", "kafka", f"127.0.0.1:{away}"))
    assert (check.status, bool(check.hint)) == ("problem", True)
