"""Refuses the writer options of an output that nothing would apply."""

from __future__ import annotations

from fnmatch import fnmatchcase

from catchment.formats.registry import traits_of
from catchment.spec.findings import Findings
from catchment.spec.model import Output

_DYNAMIC = "write `saveMode: overwrite`, and `overwrite-mode: dynamic` among the properties of the table"
_SPELLED = {
    "overwrite-mode": _DYNAMIC,
    "partitionoverwritemode": _DYNAMIC,
    "mergeschema": "write `mergeSchema: true` under `options`",
    "merge-schema": "write `mergeSchema: true` under `options`",
}
"""What other keys of a workflow say, by the option that is taken for them."""


def check_options(given: Output, format: str, findings: Findings) -> None:
    """Report the options that have no effect: Spark and the formats ignore what they do not know."""
    known = traits_of(format).write_options(format, given.mode, given.commit)
    what = "a merge" if given.mode == "merge" else f"{format} with `commit: {given.commit}`"
    for name in given.options:
        if not any(fnmatchcase(name.lower(), pattern) for pattern in known):
            message = f"the option `{name}` has no effect on {what if traits_of(format).direct else format}"
            findings.error("unsupported-option", message, given.option_places[name], _hint(name, known))
    if given.properties and not traits_of(format).is_table:
        message = f"`properties` have no effect on {format}: plain files have no table properties"
        where = given.option_places["properties"]
        findings.error("unsupported-option", message, where, "remove them, or write to a table")
    if given.mode == "merge" and given.compression:
        message = "`compressionType` has no effect on a merge"
        hint = "set the compression as a property of the table"
        findings.error("unsupported-option", message, given.option_places["compressionType"], hint)


def _hint(name: str, known: frozenset[str]) -> str:
    listed = ", ".join(sorted(known))
    return _SPELLED.get(name.lower()) or (f"these have an effect: {listed}" if listed else "remove it")
