"""Checks the reader options of inputs and the writer options of outputs: an option without effect is an error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from catchment.errors import Position
from catchment.formats.registry import traits_of
from catchment.plan.model import InputPlan
from catchment.spec.findings import Findings
from catchment.spec.model import Input, Output
from catchment.spec.validation import did_you_mean

_DYNAMIC = "write `saveMode: overwrite`, and `overwrite-mode: dynamic` among the properties of the table"
_SPELLED = {
    "overwrite-mode": _DYNAMIC,
    "partitionoverwritemode": _DYNAMIC,
    "mergeschema": "write `mergeSchema: true` under `options`",
    "merge-schema": "write `mergeSchema: true` under `options`",
}
"""What to write instead of an option whose effect is set by another key of the workflow."""


def check_read_options(given: Input, source: InputPlan, spark: str, findings: Findings) -> None:
    """Report the options of an input that have no effect."""
    format, names = source.dataset.format, {spelled(name) for name in given.options}
    traits = traits_of(format)
    known = traits.stream_options(format, spark) if source.stream else traits.read_options(format, spark, names)
    what = f"a stream of {format}" if source.stream else f"reading {format}"
    _check_each(given.options, known, what, given.places, {}, findings)
    places = {spelled(name): given.places[name] for name in given.options}
    for name, (code, message, hint) in traits.check_read_options(source.options, stream=source.stream):
        findings.error(code, message, places[name], hint)


def check_options(given: Output, format: str, findings: Findings) -> None:
    """Report the options of an output that have no effect."""
    known = traits_of(format).write_options(format, given.mode, given.commit)
    what = "a merge" if given.mode == "merge" else f"{format} with `commit: {given.commit}`"
    what = what if traits_of(format).direct else format
    _check_each(given.options, known, what, given.option_places, _SPELLED, findings)
    if given.properties and not traits_of(format).is_table:
        message = f"`properties` have no effect on {format}: plain files have no table properties"
        where = given.option_places["properties"]
        findings.error("unsupported-option", message, where, "remove them, or write to a table")
    if given.mode == "merge" and given.compression:
        message = "`compressionType` has no effect on a merge"
        hint = "set the compression as a property of the table"
        findings.error("unsupported-option", message, given.option_places["compressionType"], hint)


def _check_each(
    given: Iterable[str],
    known: frozenset[str],
    what: str,
    places: Mapping[str, Position],
    hints: Mapping[str, str],
    findings: Findings,
) -> None:
    """Report each option that is not known or is given twice: Spark and the formats ignore what they do not know."""
    patterns, seen = {spelled(name) for name in known}, set[str]()
    for name in given:
        if not any(fnmatchcase(spelled(name), pattern) for pattern in patterns):
            message = f"the option `{name}` has no effect on {what}"
            findings.error("unsupported-option", message, places[name], hints.get(name.lower()) or _hint(name, known))
        elif spelled(name) in seen:
            message = f"the option `{name}` is given twice: its case makes no difference"
            findings.error("unsupported-option", message, places[name], "remove one of them")
        seen.add(spelled(name))


def spelled(name: str) -> str:
    """An option as it is spelled everywhere in a plan: in lower case, because Spark ignores the case of options.

    Names with a dot keep their case: they are Hadoop settings, or end with a name that the user chose.
    """
    return name if "." in name else name.lower()


def spelled_options(given: Mapping[str, str]) -> dict[str, str]:
    """Options under the names that the formats look for; otherwise a write with `Branch` would go to main."""
    return {spelled(name): value for name, value in given.items()}


def _hint(name: str, known: frozenset[str]) -> str:
    listed = ", ".join(sorted(known, key=str.lower))
    others = f"these have an effect: {listed}" if listed else "remove it"
    return did_you_mean(name, known) or others
