"""Old forms of inputs and outputs: `sink` beside the steps, and a block that is named after the type of a dataset."""

from __future__ import annotations

from dataclasses import replace

from catchment.spec.findings import Findings
from catchment.spec.tree import Entry, ListNode, MapNode, Node, ScalarNode, items, maps, text

SINK = {"sequenceName": "name", "outputType": "format", "outputOptions": "options"}
FILE = "file"
"""The only type whose block gives the location of a dataset; every other type is a format that its block configures."""
TABLE_AT_PATH = ("warehousePath", "schemaName", "tableName")
"""In the block of a file: the path of a table, in three parts."""


def sinks_to_outputs(job: MapNode, findings: Findings) -> MapNode:
    """The same job with every `sink` turned into an output; it replaces the output that the sink refers to."""
    groups = items(job.get("steps"))
    sinks = [(group, sink) for group in maps(job.get("steps")) for sink in maps(group.get("sink"))]
    if not sinks:
        return job
    findings.warning("legacy-sink", "`sink` is an old spelling of `outputs`", sinks[0][0].key_where("sink"))
    depots = {text(output.get("name")): output for output in maps(job.get("outputs"))}
    used = {text(sink.get("outputName")) for _, sink in sinks}
    found = [_sink_output(sink, depots, findings) for _, sink in sinks]
    made = [output for output in found if output]
    kept = [output for output in maps(job.get("outputs")) if text(output.get("name")) not in used]
    where = job.key_where("outputs" if "outputs" in job.entries else "steps")
    job = job.having("outputs", Entry(where, ListNode(where, (*kept, *made))))
    steps = ListNode(job.key_where("steps"), tuple(left for group in groups for left in _without_sink(group)))
    return job.having("steps", Entry(job.key_where("steps"), steps))


def _without_sink(group: Node) -> tuple[Node, ...]:
    """What is left of an item of `steps` without its sink: nothing if it was only a sink."""
    if not isinstance(group, MapNode) or "sink" not in group.entries:
        return (group,)
    left = group.without("sink")
    return (left,) if left.entries else ()


def _sink_output(sink: MapNode, depots: dict[str | None, MapNode], findings: Findings) -> MapNode | None:
    target = depots.get(text(sink.get("outputName")))
    if target is None:
        message = f"no output is named `{text(sink.get('outputName'))}`"
        findings.error("unknown-output", message, sink.key_where("outputName"), "name one of `outputs`")
        return None
    output = sink.without("outputName", "datasetName")
    for old, new in SINK.items():
        output = output.renamed(old, new)
    dataset = _sink_dataset(sink, target)
    return output.having("dataset", dataset) if dataset else output


def _sink_dataset(sink: MapNode, target: MapNode) -> Entry | None:
    """The depot's address with the dataset's name in front of its query."""
    entry = target.entries.get("depot") or target.entries.get("dataset")
    if entry is None or not isinstance(entry.node, ScalarNode):
        return None
    name = sink.entries.get("datasetName")
    address, mark, query = entry.node.text.partition("?")
    tail = text(name.node) if name else None
    full = f"{address.rstrip('/')}/{tail}{mark}{query}" if tail else entry.node.text
    return Entry((name or entry).where, replace(entry.node, value=full, text=full))


def unfold(node: MapNode, key: str, findings: Findings) -> MapNode:
    """An input or output whose block, named after the type under `key`, is replaced with plain keys."""
    kind = (text(node.get(key)) or "").lower()
    block = node.get(kind)
    if not isinstance(block, MapNode):
        return node
    node = node.without(kind)
    if kind != FILE:
        return node  # the type is a format, which is reported as not supported
    node = node.without(key)
    for name, entry in _with_path(block).entries.items():
        if name in node.entries:
            message = f"`{name}` is given here and beside `{FILE}`, on line {node.key_where(name).line}"
            findings.error("given-twice", message, entry.where, "keep one of them")
        else:
            node = node.having(name, entry)
    return node


def _with_path(block: MapNode) -> MapNode:
    """The block of a file with its path as the dataset; the parts of a table's path are joined."""
    block = block.renamed("path", "dataset")
    warehouse = block.get(TABLE_AT_PATH[0])
    if not isinstance(warehouse, ScalarNode):
        return block
    parts = [text(block.get(name)) or "" for name in TABLE_AT_PATH]
    path = "/".join(part.rstrip("/") for part in parts if part)
    dataset = replace(warehouse, value=path, text=path)
    return block.without(*TABLE_AT_PATH).having("dataset", Entry(block.key_where(TABLE_AT_PATH[0]), dataset))
