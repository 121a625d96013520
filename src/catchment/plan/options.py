"""The writer options of outputs: each has one spelling, and none that nothing would apply is taken."""

from __future__ import annotations

from collections.abc import Mapping
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
    seen: set[str] = set()
    for name in given.options:
        if not any(fnmatchcase(spelled(name), pattern) for pattern in known):
            message = f"the option `{name}` has no effect on {what if traits_of(format).direct else format}"
            findings.error("unsupported-option", message, given.option_places[name], _hint(name, known))
        elif spelled(name) in seen:
            message = f"the option `{name}` is given twice: its case makes no difference"
            findings.error("unsupported-option", message, given.option_places[name], "remove one of them")
        seen.add(spelled(name))
    if given.properties and not traits_of(format).is_table:
        message = f"`properties` have no effect on {format}: plain files have no table properties"
        where = given.option_places["properties"]
        findings.error("unsupported-option", message, where, "remove them, or write to a table")
    if given.mode == "merge" and given.compression:
        message = "`compressionType` has no effect on a merge"
        hint = "set the compression as a property of the table"
        findings.error("unsupported-option", message, given.option_places["compressionType"], hint)


def spelled(name: str) -> str:
    """An option as it is spelled everywhere in a plan: Spark ignores the case of options.

    Not of names with a dot: those are settings of Hadoop, or end with a name of the user's own.
    """
    return name if "." in name else name.lower()


def spelled_options(given: Mapping[str, str]) -> dict[str, str]:
    """Options by the names that the formats look for; by another one, `Branch` would be written to main."""
    return {spelled(name): value for name, value in given.items()}


def _hint(name: str, known: frozenset[str]) -> str:
    listed = ", ".join(sorted(known))
    return _SPELLED.get(name.lower()) or (f"these have an effect: {listed}" if listed else "remove it")
