"""The options of Paimon's reader, and whether their values make sense. No Spark here."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from catchment.formats.traits import Problem, problem

SNAPSHOT, TAG, VERSION = "scan.snapshot-id", "scan.tag-name", "scan.version"
MILLIS, TIMESTAMP = "scan.timestamp-millis", "scan.timestamp"
BETWEEN, BETWEEN_MILLIS = "incremental-between", "incremental-between-timestamp"
SCAN_MODE = "incremental-between-scan-mode"
SCAN_MODES = ("auto", "delta", "changelog")
SELECTORS = (SNAPSHOT, TAG, VERSION, MILLIS, TIMESTAMP, BETWEEN, BETWEEN_MILLIS)
"""Options that choose what is read; one input can have only one of them."""
TIME_TRAVEL = frozenset({*SELECTORS, SCAN_MODE})
_OF_SCANS = frozenset({"source.split.target-size", "source.split.open-file-cost", "read.batch-size"})
_FORMS = {
    SNAPSHOT: (r"\d+", "the number of a snapshot"),
    MILLIS: (r"\d+", "a time in milliseconds since 1970"),
    TIMESTAMP: (
        r"\d{4}-\d{1,2}-\d{1,2}( \d{1,2}:\d{1,2}:\d{1,2}(\.\d{1,9})?)?",
        "a time such as 2026-03-01 12:00:00, in the time zone of the engine",
    ),
    BETWEEN: (r"[^,]+,[^,]+", "two snapshots or two tags, such as 5,10: from after the first one, to the second one"),
    BETWEEN_MILLIS: (r"\d+,\d+", "two times in milliseconds since 1970, such as 1772323200000,1772409600000"),
    SCAN_MODE: ("|".join(SCAN_MODES), f"one of {', '.join(SCAN_MODES)}"),
}


def read_options(format: str, spark: str, given: Collection[str]) -> frozenset[str]:
    """The options of Paimon's reader. Its writer has none: what matters is a property of the table."""
    return TIME_TRAVEL | _OF_SCANS


def stream_options(format: str, spark: str) -> frozenset[str]:
    """The options of a stream: those that say how files are read."""
    return _OF_SCANS


def check_values(options: Mapping[str, str], *, stream: bool) -> Iterator[tuple[str, Problem]]:
    """Report values that Paimon cannot read, and options that exclude each other."""
    if stream:
        return
    for name, (form, meant) in _FORMS.items():
        if name in options and not re.fullmatch(form, options[name]):
            yield name, problem("bad-value", f"`{name}: {options[name]}` is not valid", f"write {meant}")
    for name in (each for each in (BETWEEN, BETWEEN_MILLIS) if each in options):
        first, _, last = options[name].partition(",")
        if first.isdigit() and last.isdigit() and int(first) > int(last):
            yield name, problem("bad-value", f"`{name}` ends before it begins", f"write {last},{first}")
    chosen = [name for name in SELECTORS if name in options]
    for name in chosen[1:]:
        message = f"`{chosen[0]}` and `{name}` both choose what is read"
        yield name, problem("bad-value", message, "keep one of them")
    if SCAN_MODE in options and not {BETWEEN, BETWEEN_MILLIS} & set(chosen):
        message = f"`{SCAN_MODE}` has no effect without `{BETWEEN}`"
        yield SCAN_MODE, problem("unsupported-option", message, f"add `{BETWEEN}`, or remove it")
