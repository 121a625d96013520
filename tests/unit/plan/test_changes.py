"""Jobs of the toolbox in a plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment import plan
from catchment.errors import Diagnostic
from catchment.plan.preparation import Prepared

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
    ],
)
def test_what_cannot_be_done_is_told_at_its_place(
    tmp_path: Path, dataset: str, action: str, expected: tuple[str, int, int]
) -> None:
    assert problems(tmp_path, dataset, action) == [expected]


def test_depots_that_need_no_published_catalog_for_other_changes(tmp_path: Path) -> None:
    assert problems(tmp_path, "far:raw/trips?acl=rw", "name: branch_fast_forward, branch: audit") == []
