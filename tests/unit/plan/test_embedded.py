"""The kind of a depot that nobody configured follows from what is in it, or from the workflow that uses it first."""

from __future__ import annotations

from pathlib import Path

from catchment import plan
from catchment.plan.preparation import Prepared

FLOW = """\
name: copy
version: v1
type: workflow
workflow:
  dag:
    - name: copy
      spec:
        stack: flare:7.0
        stackSpec:
          job:
            inputs:
              - {{name: cities, dataset: "dataos://{source}?acl=r"{read}}}
            outputs:
              - {{name: cities, dataset: "dataos://{target}?acl=rw"{write}, options: {{saveMode: append}}}}
"""


def prepare(root: Path, source: str, read: str, target: str, write: str) -> Prepared:
    formats = [f", format: {name}" if name else "" for name in (read, write)]
    (root / "copy.yaml").write_text(FLOW.format(source=source, read=formats[0], target=target, write=formats[1]))
    return plan.prepare(root / "copy.yaml", env={})


def formats(prepared: Prepared) -> tuple[str, str]:
    assert prepared.plan, prepared.diagnostics
    [job] = prepared.plan.jobs
    return job.inputs[0].dataset.format, job.outputs[0].dataset.format


def codes(prepared: Prepared) -> list[str]:
    return [each.code for each in prepared.diagnostics]


def test_a_format_makes_the_depot_one_of_its_kind(tmp_path: Path) -> None:
    prepared = prepare(tmp_path, "lakehouse:raw/cities", "", "azure:raw/cities", "Delta")
    assert formats(prepared) == ("iceberg", "delta")
    assert prepared.plan
    kinds = {depot.name: (depot.kind, depot.catalog) for depot in prepared.plan.engines[0].depots}
    assert kinds["azure"] == ("delta", None)
    assert (
        prepared.plan.jobs[0].outputs[0].dataset.path
        == f"{tmp_path.resolve()}/.catchment/depots/azure/delta/raw/cities"
    )


def test_the_kind_decides_where_no_format_is_given(tmp_path: Path) -> None:
    assert formats(prepare(tmp_path, "azure:raw/cities", "", "azure:raw/copies", "delta")) == ("delta", "delta")
    (tmp_path / ".catchment" / "depots" / "azure" / "delta").mkdir(parents=True)
    assert formats(prepare(tmp_path, "azure:raw/cities", "", "azure:raw/copies", "")) == ("delta", "delta")


def test_a_depot_has_one_kind(tmp_path: Path) -> None:
    assert codes(prepare(tmp_path, "azure:raw/cities", "iceberg", "azure:raw/copies", "delta")) == ["format-mismatch"]
    (tmp_path / ".catchment" / "depots" / "azure" / "files").mkdir(parents=True)
    assert codes(prepare(tmp_path, "azure:raw/cities", "csv", "azure:raw/copies", "delta")) == ["format-mismatch"]
