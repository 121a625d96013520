"""Plans what happens to rows of an input that cannot be parsed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import count

from catchment.formats.registry import supporting_formats, traits_of
from catchment.spec.findings import Findings
from catchment.spec.model import BadRows, Input, Output

_MODES: dict[str, BadRows] = {"failfast": "fail", "dropmalformed": "drop", "permissive": "keep"}
"""What the values of Spark's option `mode` mean."""
_MODE, _COLUMN = "mode", "columnnameofcorruptrecord"


def bad_rows_of(given: Input, format: str, findings: Findings) -> BadRows:
    """What happens to bad rows of an input, according to `badRows` or to Spark's own option `mode`."""
    if format not in traits_of(format).bad_rows:
        _check_no_effect(given, format, findings)
        return "fail"
    names = {name.lower(): name for name in given.options}
    found = _by_mode(given, names[_MODE], findings) if _MODE in names else given.bad_rows or "fail"
    if _COLUMN in names and found != "keep":
        message = f"`{names[_COLUMN]}` has no effect: bad rows are not kept"
        hint = "remove it, or add the option `mode: PERMISSIVE`, which keeps bad rows and fills them with NULLs"
        findings.error("unsupported-option", message, given.places[names[_COLUMN]], hint)
    if found == "quarantine" and given.incremental is not None:
        message = "bad rows of an incremental input cannot be quarantined: they belong to no window"
        hint = "use `badRows: fail` or `badRows: drop`, or load the files into a table first"
        findings.error("unsupported-bad-rows", message, given.places["badRows"], hint)
    return found


def without_mode(given: Input, bad_rows: BadRows) -> dict[str, str]:
    """The options of an input for Spark's reader, without the parse mode unless bad rows are kept."""
    return {name: value for name, value in given.options.items() if bad_rows == "keep" or name.lower() != _MODE}


def quarantine_of(given: Input, taken: Collection[str]) -> Output | None:
    """The output that the bad rows of an input are written to, with a name that no other output has."""
    if given.bad_rows != "quarantine" or given.quarantine is None:
        return None
    plain, where = f"{given.name}-bad-rows", given.places["quarantine"]
    name = next(name for name in _numbered(plain) if name not in taken)
    return Output(name, name, given.quarantine, where, where, mode="append", option_places={"conflict": where})


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}-{number}" for number in count(2))


def _check_no_effect(given: Input, format: str, findings: Findings) -> None:
    if given.bad_rows is not None:
        message = f"`badRows` has no effect on {format}: its rows are not parsed from text"
        hint = f"leave it out; it works on {supporting_formats('bad_rows')}"
        findings.error("unsupported-bad-rows", message, given.places["badRows"], hint)


def _by_mode(given: Input, name: str, findings: Findings) -> BadRows:
    mode, where = given.options[name], given.places[name]
    if given.bad_rows is not None:
        message = f"`badRows` and the option `{name}` both say what happens to bad rows"
        findings.error("given-twice", message, where, "keep `badRows`")
    if mode.lower() not in _MODES:
        message, hint = f"there is no parse mode `{mode}`", "use `badRows: fail`, `drop` or `quarantine` instead"
        findings.error("bad-value", message, where, hint)
    found = _MODES.get(mode.lower(), "fail")
    if found == "keep":
        message = f"with `{name}: {mode}` bad rows are read as NULLs and are not counted"
        findings.warning("bad-rows-kept", message, where, "use `badRows: drop` or `badRows: quarantine`")
    return found
