"""Jobs of the toolbox in a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from catchment import plan
from catchment.errors import Diagnostic
from catchment.plan.model import ChangeName
from catchment.plan.preparation import Prepared
from catchment.spec.reading.table_actions import NEEDS

PROJECT = """\
depots:
  lake: {kind: iceberg, location: ./lake, publish: shown}
  far: {kind: iceberg, location: w, catalog: {type: rest, uri: "http://host/iceberg"}}
  events: {kind: delta, location: ./events}
"""
FLOW = """\
name: flow
version: v1
type: workflow
workflow:
  dag:
    - name: publish
      spec:
        stack: toolbox
        toolbox:
          dataset: dataos://%s
          action: {%s}
"""


def prepared(directory: Path, dataset: str, action: str) -> Prepared:
    (directory / "catchment.yaml").write_text(PROJECT)
    (directory / "flow.yaml").write_text(FLOW % (dataset, action))
    return plan.prepare(directory / "flow.yaml", env={})


def problems(directory: Path, dataset: str, action: str) -> list[tuple[str, int, int]]:
    def place(each: Diagnostic) -> tuple[str, int, int]:
        assert each.where
        return each.code, each.where.line, each.where.column

    return [place(each) for each in prepared(directory, dataset, action).diagnostics]


def test_a_change_is_planned_with_its_place(tmp_path: Path) -> None:
    found = prepared(tmp_path, "lake:raw/trips?acl=rw", "name: set_version, value: v4.gz.metadata.json")
    assert (found.diagnostics, found.plan is None) == ((), False)
    assert found.plan
    (job,) = found.plan.jobs
    assert job.change
    assert (job.change.dataset.identifier, job.change.published) == ("`lake`.`raw`.`trips`", "shown")
    assert (job.change.name, job.change.arguments) == ("set_version", {"value": "v4.gz.metadata.json"})
    assert str(job.change.where).endswith("flow.yaml:11:46")
    assert job.reported == (("set_version", "dataos://lake:raw/trips"),)
    assert [depot.name for depot in found.plan.engines[0].depots] == ["lake"]


@pytest.mark.parametrize(
    ("dataset", "action", "expected"),
    [
        ("lake:raw/trips", "name: set_version, value: latest", ("no-acl", 10, 20)),
        ("lake:raw/trips?acl=r", "name: set_version, value: latest", ("read-only-input", 10, 20)),
        ("far:raw/trips?acl=rw", "name: set_version, value: latest", ("no-published-catalog", 10, 20)),
        ("events:raw/trips?acl=rw", "name: set_version, value: latest", ("unsupported-change", 10, 20)),
        ("nowhere:raw/trips?acl=rw", "name: set_version, value: latest", ("unknown-depot", 10, 20)),
        ("lake:raw/trips?acl=rw", "name: set_version", ("missing-field", 11, 19)),
        ("lake:raw/trips?acl=rw", "name: set_verson, value: latest", ("bad-value", 11, 26)),
        ("lake:raw/trips?acl=rw", "name: set_version, value: v1, to: main", ("unknown-key", 11, 50)),
        ("lake:raw/trips?acl=rw", "name: branch_fast_forward, to: x", ("missing-field", 11, 19)),
        ("lake:raw/trips?acl=rw", "name: rollback", ("missing-field", 11, 19)),
        (
            "lake:raw/trips?acl=rw",
            "name: rollback, snapshot: 1, timestamp: 2026-03-01T12:00:00Z",
            ("missing-field", 11, 19),
        ),
        ("lake:raw/trips?acl=rw", "name: rollback, timestamp: yesterday", ("bad-timestamp", 11, 47)),
        ("lake:raw/trips?acl=rw", "name: column_add, column: a", ("missing-field", 11, 19)),
        ("lake:raw/trips?acl=rw", "name: partition_add, column: a, type: dya", ("bad-transform", 11, 58)),
        ("lake:raw/trips?acl=rw", "name: partition_add, column: a, type: bucket, numBuckets: 0", ("bad-value", 11, 78)),
        ("lake:raw/trips?acl=rw", "name: partition_add, column: a, type: day, numBuckets: 4", ("unknown-key", 11, 63)),
    ],
)
def test_what_cannot_be_done_is_told_at_its_place(
    tmp_path: Path, dataset: str, action: str, expected: tuple[str, int, int]
) -> None:
    assert problems(tmp_path, dataset, action) == [expected]


@pytest.mark.parametrize(
    ("action", "arguments"),
    [
        ("name: rollback, snapshot: 123", {"snapshot": "123"}),
        ("name: rollback, timestamp: 2026-03-01T12:00:00Z", {"timestamp": "2026-03-01T12:00:00Z"}),
        ("name: set_snapshot, snapshot: 123", {"snapshot": "123"}),
        ("name: tag_create, tag: daily", {"tag": "daily"}),
        ("name: tag_delete, tag: daily", {"tag": "daily"}),
        ("name: branch_create, branch: side, snapshot: 5", {"branch": "side", "snapshot": "5"}),
        ("name: branch_delete, branch: side", {"branch": "side"}),
        ("name: properties_set, properties: {a: 1, b: true}", {"properties": {"a": "1", "b": "true"}}),
        ("name: properties_unset, names: [a, b]", {"names": ["a", "b"]}),
        ("name: column_add, column: a, type: int", {"column": "a", "type": "int"}),
        ("name: column_drop, column: a", {"column": "a"}),
        ("name: column_rename, column: a, to: b", {"column": "a", "to": "b"}),
        ("name: column_widen, column: a, type: bigint", {"column": "a", "type": "bigint"}),
        (
            "name: partition_add, type: bucket, column: a, numBuckets: 4, asColumn: b",
            {"type": "bucket", "column": "a", "numBuckets": 4, "asColumn": "b"},
        ),
        ("name: partition_drop, field: a", {"field": "a"}),
        ("name: partition_replace, field: a, type: day, column: b", {"field": "a", "type": "day", "column": "b"}),
    ],
)
def test_every_action_is_read(tmp_path: Path, action: str, arguments: dict[str, Any]) -> None:
    found = prepared(tmp_path, "lake:raw/trips?acl=rw", action)
    assert found.diagnostics == ()
    assert found.plan
    assert found.plan.jobs[0].change
    assert found.plan.jobs[0].change.arguments == arguments


def test_every_change_can_be_asked_for() -> None:
    assert set(NEEDS) == set(get_args(ChangeName))


def test_depots_that_need_no_published_catalog_for_other_changes(tmp_path: Path) -> None:
    assert problems(tmp_path, "far:raw/trips?acl=rw", "name: branch_fast_forward, branch: audit") == []
