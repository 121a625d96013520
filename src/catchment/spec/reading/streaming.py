"""Reads the settings of a streaming job. The checkpoint may be in `streaming`, in outputs or in their options."""

from __future__ import annotations

from collections.abc import Iterator

from catchment.errors import Position
from catchment.spec.findings import Findings
from catchment.spec.grammar import streaming as grammar
from catchment.spec.streaming import Streaming, Trigger
from catchment.spec.tree import MapNode, follow, maps, text
from catchment.spec.validation import parse

_NOTHING = grammar.Streaming()
_CHECKPOINT = "checkpointLocation"


def read_streaming(job: MapNode, findings: Findings) -> Streaming | None:
    """How the job runs as a stream; None if nothing but its inputs indicates a stream."""
    node = job.get("streaming")
    given, found = parse(grammar.Streaming, node, job.key_where("streaming")) if node is not None else (_NOTHING, [])
    findings.extend(found)
    signs = [*([job.key_where("streaming")] if node is not None else []), *_signs(job)]
    if given is None or not signs:
        return None
    streaming = node if isinstance(node, MapNode) else MapNode(signs[0], {})
    _check(given, streaming, findings)
    checkpoint = _checkpoint(job, findings)
    return Streaming(
        where=signs[0],
        trigger=_trigger(given),
        interval=given.trigger_duration,
        output_mode=given.output_mode or "append",  # type: ignore[arg-type]
        mode_where=streaming.key_where("outputMode"),
        checkpoint=checkpoint[0] if checkpoint else None,
        checkpoint_where=checkpoint[1] if checkpoint else None,
    )


def _trigger(given: grammar.Streaming) -> Trigger:
    if given.trigger_mode in ("AvailableNow", "Once", "OneTime"):
        return "available-now"
    return "processing-time" if given.trigger_mode == "ProcessingTime" else "back-to-back"


def _check(given: grammar.Streaming, node: MapNode, findings: Findings) -> None:
    """Report settings that contradict each other or have no effect."""
    trigger = _trigger(given)
    if trigger == "processing-time" and given.trigger_duration is None:
        where, hint = node.key_where("triggerMode"), "add `triggerDuration`, such as `10 seconds`"
        findings.error("missing-field", "`triggerDuration` is missing", where, hint)
    if trigger != "processing-time" and given.trigger_duration is not None:
        message, where = "`triggerDuration` has an effect only with ProcessingTime", node.key_where("triggerDuration")
        findings.error("misplaced-key", message, where, "remove it, or write `triggerMode: ProcessingTime`")
    if given.batch_mode and trigger != "available-now":
        message, where = "`batchMode` is for streams that end by themselves", node.key_where("batchMode")
        findings.error("misplaced-key", message, where, "write `triggerMode: AvailableNow`, or remove it")
    for name in given.extra_options or {}:
        where = follow(node, ["extraOptions", name]).key_where
        message = f"the option `{name}` has no effect on a stream: its outputs are written batch by batch"
        hint = "give it to the input (`options`) or to the output (`extraOptions`)"
        findings.error("unsupported-option", message, where, hint)


def _signs(job: MapNode) -> Iterator[Position]:
    """The positions of checkpoints and of `isStream` in outputs, which mark the job as a stream."""
    yield from (where for _, where in _checkpoints(job))
    for output in maps(job.get("outputs")):
        if (text(output.get("isStream")) or "").lower() == "true":
            yield output.key_where("isStream")


def _checkpoint(job: MapNode, findings: Findings) -> tuple[str, Position] | None:
    found = list(_checkpoints(job))
    for location, where in found[1:]:
        if location != found[0][0]:
            message = f"the job has one checkpoint, and `{found[0][0]}` is given on line {found[0][1].line}"
            findings.error("given-twice", message, where, "keep one of them, in `streaming`")
    return found[0] if found else None


def _checkpoints(job: MapNode) -> Iterator[tuple[str, Position]]:
    outputs = [*maps(job.get("outputs"))]
    options = [each for output in outputs if isinstance(each := output.get("options"), MapNode)]
    streaming = job.get("streaming")
    for node in (*([streaming] if isinstance(streaming, MapNode) else []), *outputs, *options):
        location = node.get(_CHECKPOINT)
        if location is not None and (written := text(location)):
            yield written, location.where
