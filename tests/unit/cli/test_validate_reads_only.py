"""`validate` and `plan` read a file, and do nothing else with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.spec.marked import GOOD, changed

RECORDER = """\
import json, os, sys

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
DEEDS = ("subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "socket.connect",
    "socket.bind", "socket.getaddrinfo", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink",
    "os.chmod", "os.truncate", "shutil.", "tempfile.", "sqlite3.connect", "urllib.")
done, read = [], []

def record(event, arguments):
    if event == "open" and isinstance(arguments[0], str):
        (done if arguments[2] & WRITES else read).append(arguments[0])
    elif event.startswith(DEEDS):
        done.append(f"{event} {arguments[:1]}")

from catchment.cli import main
sys.addaudithook(record)
sys.argv[0] = "catchment"
try:
    main()
finally:
    sys.stderr.write("RECORD " + json.dumps([done, read]))
"""
HOSTILE = changed(
    "sql: select * from trips",
    "sql: \"select '${HOME}', reflect('java.lang.Runtime', 'getRuntime') from trips\", sqlFile: ../outside.txt",
).replace("dataos://raw:none/trips?acl=r", "dataos://raw:none/trips?acl=r&x=$(touch /tmp/x)")
PROJECT = """\
metastore: sqlite:///made/metastore.db
engines: {default: {packages: ['org.example.nowhere:nothing:1.0'], conf: {spark.x: '${file:../outside.txt}'}}}
depots:
  raw: {kind: files, location: ./raw}
  lake: {kind: iceberg, location: s3a://bucket/lake, catalog: {type: rest, uri: 'http://127.0.0.1:1/'}}
"""


@pytest.mark.parametrize("verb", ["validate", "plan"])
@pytest.mark.parametrize("text", [GOOD, HOSTILE], ids=["good", "hostile"])
def test_it_writes_nothing_starts_nothing_and_connects_to_nothing(verb: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("outside-outside-1\n")
    root = tmp_path / "project"
    root.mkdir()
    (root / "catchment.yaml").write_text(PROJECT)
    (root / "flow.yaml").write_text(text)
    before = sorted(tmp_path.rglob("*"))
    answer = subprocess.run(
        [sys.executable, "-B", "-c", RECORDER, verb, "flow.yaml"],
        cwd=root,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    said, _, recorded = answer.stderr.rpartition("RECORD ")
    done, read = json.loads(recorded)
    assert done == []
    assert any(path.endswith("flow.yaml") for path in read)
    assert sorted(tmp_path.rglob("*")) == before
    assert "outside-outside-1" not in answer.stdout + said
