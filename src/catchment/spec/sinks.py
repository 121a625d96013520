"""The dialect's old way to write: `steps[].sink`, which points to `outputs[]` that hold only a depot."""

from __future__ import annotations

from dataclasses import replace

from catchment.spec.findings import Findings
from catchment.spec.tree import Entry, ListNode, MapNode, ScalarNode, maps, text

_RENAMED = {"sequenceName": "name", "outputType": "format", "outputOptions": "options"}


def sinks_to_outputs(job: MapNode, findings: Findings) -> MapNode:
    """The same job with every sink as an output of its own; the outputs that sinks point to are used up."""
    steps = job.get("steps")
    sinks = [(group, sink) for group in maps(steps) for sink in maps(group.get("sink"))]
    if not sinks:
        return job
    findings.warning("legacy-sink", "`sink` is an old spelling of `outputs`", sinks[0][0].key_where("sink"))
    depots = {text(output.get("name")): output for output in maps(job.get("outputs"))}
    used = {text(sink.get("outputName")) for _, sink in sinks}
    found = [_output(sink, depots, findings) for _, sink in sinks]
    made = [output for output in found if output]
    kept = [output for output in maps(job.get("outputs")) if text(output.get("name")) not in used]
    where = job.key_where("outputs" if "outputs" in job.entries else "steps")
    job = job.having("outputs", Entry(where, ListNode(where, (*kept, *made))))
    return job.edited_items("steps", lambda group: group.without("sink"))


def _output(sink: MapNode, depots: dict[str | None, MapNode], findings: Findings) -> MapNode | None:
    target = depots.get(text(sink.get("outputName")))
    if target is None:
        message = f"no output is named `{text(sink.get('outputName'))}`"
        findings.error("unknown-output", message, sink.key_where("outputName"), "name one of `outputs`")
        return None
    output = sink.without("outputName", "datasetName")
    for old, new in _RENAMED.items():
        output = output.renamed(old, new)
    dataset = _dataset(sink, target)
    return output.having("dataset", dataset) if dataset else output


def _dataset(sink: MapNode, target: MapNode) -> Entry | None:
    """The depot's address with the dataset's name in front of its query."""
    entry = target.entries.get("depot") or target.entries.get("dataset")
    if entry is None or not isinstance(entry.node, ScalarNode):
        return None
    name = sink.entries.get("datasetName")
    address, mark, query = entry.node.text.partition("?")
    tail = text(name.node) if name else None
    full = f"{address.rstrip('/')}/{tail}{mark}{query}" if tail else entry.node.text
    return Entry((name or entry).where, replace(entry.node, value=full, text=full))
