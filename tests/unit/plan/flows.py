"""Small workflow files for the tests of the plan: eleven lines for each job, so that positions can be counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from catchment import plan
from catchment.errors import Diagnostic
from catchment.plan.preparation import Prepared

PROJECT = """\
engines:
  big: {isolation: process}
  old: {spark: "3.5"}
depots:
  drop: {kind: files, location: ./dropzone}
  lakehouse: {kind: iceberg, location: ./lake}
"""
JOB_LINES = 11
DEPENDENCIES, COMPUTE, INPUT, OUTPUT = 7, 10, 14, 16
"""Lines of the first job; each further one adds JOB_LINES."""
ADDRESS_COLUMN = 35
READ = "dataos://drop:none/trips"
TABLE = "dataos://lakehouse:raw/trips?acl=rw"
FILES = "dataos://drop:none/out?acl=rw"


@dataclass(frozen=True)
class J:
    """One job, as far as tests care."""

    name: str
    needs: str = ""
    read: str = READ
    write: str = TABLE
    mode: str = "append"
    partitions: str = ""
    properties: str = ""
    compute: str = "runnable-default"
    read_more: str = ", format: json"
    write_more: str = ""
    conf: str = ""
    merge: str = ""
    options: str = ""
    streaming: str = ""
    steps: Sequence[str] = ()

    def text(self) -> str:
        """The job as YAML."""
        dynamic = "overwrite-mode: dynamic" if self.mode == "overwrite-partitions" else ""
        properties = ", ".join(filter(None, (dynamic, self.properties)))
        mode = "append" if self.mode == "append" else "overwrite"
        iceberg = f", iceberg: {{properties: {{{properties}}}, partitionSpec: [{self.partitions}]}}"
        merge = f", merge: {{{self.merge}}}" if self.merge else ""
        more = f", {self.options}" if self.options else ""
        options = f"{{saveMode: {mode}{merge}{iceberg if properties or self.partitions else ''}{more}}}"
        return f"""\
  - name: {self.name}
    dependencies: [{self.needs}]
    spec:
      stack: flare:7.0
      compute: {self.compute}
      stackSpec: {{sparkConf: [{self.conf}],
        job: {{{f" streaming: {{{self.streaming}}}," if self.streaming else ""}
          inputs: [
          {{ name: input, dataset: "{self.read}"{self.read_more} }}],
          {f"steps: [{{sequence: [{', '.join(self.steps)}]}}]," if self.steps else ""} outputs: [
          {{ name: input, dataset: "{self.write}", options: {options}{self.write_more} }}]}}}}
"""


def flow(*jobs: J) -> str:
    """A workflow as YAML."""
    return "version: v1\nname: flow\ntype: workflow\nworkflow:\n  dag:\n" + "".join(job.text() for job in jobs)


def prepare(directory: Path, text: str, project: str | None = PROJECT) -> Prepared:
    """Write workflow and project, and plan them."""
    if project is not None:
        (directory / "catchment.yaml").write_text(project)
    file = directory / "flow.yaml"
    file.write_text(text)
    return plan.prepare(file, env={})


def place(diagnostic: Diagnostic) -> tuple[str, int, int]:
    """Code, line and column."""
    assert diagnostic.where is not None
    return diagnostic.code, diagnostic.where.line, diagnostic.where.column
