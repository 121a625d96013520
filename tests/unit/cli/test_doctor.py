"""What the doctor says about servers: those of a depot, and those of its catalog."""

from __future__ import annotations

import socket
from pathlib import Path

from catchment import project
from catchment.cli.doctor import check_depot, check_warnings
from catchment.project.model import Catalog, Depot
from tests.servers.s3 import free_port


def test_one_server_that_answers_is_enough() -> None:
    away = free_port()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        [check] = check_depot(Depot("broker", "kafka", f"127.0.0.1:{away},127.0.0.1:{port}"))
    assert (check.name, check.status) == ("depot broker", "ok")
    [check] = check_depot(Depot("broker", "kafka", f"127.0.0.1:{away}"))
    assert (check.status, bool(check.hint)) == ("problem", True)


def test_one_server_of_a_catalog_that_answers_is_enough() -> None:
    away = free_port()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        uri = f"thrift://127.0.0.1:{away}, thrift://127.0.0.1:{port}"
        [check] = check_depot(Depot("lake", "iceberg", "", Catalog("hive", uri)))
    assert (check.status, check.message) == ("ok", f"hive answers at 127.0.0.1:{port}")
    [check] = check_depot(Depot("lake", "iceberg", "", Catalog("hive", f"thrift://127.0.0.1:{away}")))
    assert (check.status, bool(check.hint)) == ("problem", True)
    [check] = check_depot(Depot("lake", "iceberg", "", Catalog("hive", "thrift://host:port")))
    assert check.status == "unknown"


def test_warnings_of_the_project_file_are_repeated(tmp_path: Path) -> None:
    (tmp_path / "catchment.yaml").write_text("depots:\n  pond: {kind: paimon, location: s3a://bucket/pond}\n")
    [check] = check_warnings(project.load(tmp_path))
    assert (check.status, bool(check.hint)) == ("warning", True)
    assert check.message.endswith("(unguarded-depot)")
    assert check.name.endswith("catchment.yaml:2:24")
