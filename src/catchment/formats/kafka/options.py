"""The options of Spark's Kafka reader: which of them have an effect, and which values are valid."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping

from catchment.formats.traits import Problem, problem

KAFKA, JSON = "kafka", "kafkajson"
"""The records as they are, and the columns that are parsed from their values."""
_START = frozenset(
    {"startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp", "startingOffsetsByTimestampStrategy"}
)
_END = frozenset({"endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"})
_PACE = frozenset({"maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay"})
_ANY = frozenset(
    {
        *("failOnDataLoss", "minPartitions", "groupIdPrefix"),
        *("kafkaConsumer.pollTimeoutMs", "fetchOffset.numRetries", "fetchOffset.retryIntervalMs"),
    }
)
_TRUTHS = frozenset({"failondataloss", "includeheaders"})
_NUMBERS = frozenset(
    {
        *("minpartitions", "maxoffsetspertrigger", "minoffsetspertrigger", "maxrecordsperpartition"),
        *("startingtimestamp", "endingtimestamp", "kafkaConsumer.pollTimeoutMs"),
        *("fetchOffset.numRetries", "fetchOffset.retryIntervalMs"),
    }
)
_WORDS: dict[bool, dict[str, tuple[str, ...]]] = {
    True: {"startingoffsets": ("earliest", "latest")},
    False: {"startingoffsets": ("earliest",), "endingoffsets": ("latest",)},
}
"""The words for offsets, by whether the topic is a stream."""
_OFFSETS = ("startingoffsets", "endingoffsets", "startingoffsetsbytimestamp", "endingoffsetsbytimestamp")


def read_options(format: str, spark: str, given: Collection[str]) -> frozenset[str]:
    """The options of a topic that is read once; the address names the topic, and the depot how it is reached."""
    return _common(format, spark) | _END


def stream_options(format: str, spark: str) -> frozenset[str]:
    """The options of a stream of a topic."""
    return _common(format, spark) | _PACE


def _common(format: str, spark: str) -> frozenset[str]:
    newer = frozenset() if spark.startswith("3.") else frozenset({"maxRecordsPerPartition"})
    return _START | _ANY | newer | (frozenset({"includeHeaders"}) if format == KAFKA else frozenset())


def check_options(options: Mapping[str, str], *, stream: bool) -> Iterator[tuple[str, Problem]]:
    """Report problems with the values of options, each with its name."""
    for name, value in options.items():
        if name in _TRUTHS and value.lower() not in ("true", "false"):
            yield name, problem("bad-value", f"`{value}` is neither true nor false", "write true or false")
        if name in _NUMBERS and not value.isdecimal():
            yield name, problem("bad-value", f"`{value}` is no number", "write a whole number")
        if name in _OFFSETS:
            words = _WORDS[stream].get(name, ())
            if value not in words and not _is_object(value):
                forms = " or ".join((*words, 'JSON such as {"topic": {"0": 23}}'))
                yield name, problem("bad-value", f"`{value}` names no offsets that can be used here", f"write {forms}")


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
