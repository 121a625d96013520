"""The building blocks of the grammar: base model, field helpers and scalar types, each with its own error code."""

from __future__ import annotations

import re
import zoneinfo
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from catchment.spec.grammar.durations import Duration as Duration
from catchment.spec.grammar.durations import duration, refusal
from catchment.spec.validation import Text, did_you_mean
from catchment.timestamps import EXAMPLE, as_written, milliseconds


class Part(BaseModel):
    """A mapping of the dialect: camelCase keys, unknown keys are errors, every field has a description."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)


def required(description: str) -> Any:
    """A field that must be given."""
    return Field(description=description)


def optional(description: str) -> Any:
    """A field that may be left out."""
    return Field(default=None, description=description)


MAX_NAME = 48
_DNS = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_VIEW = re.compile(r"\w+")
_OUTPUT = re.compile(r"\w[\w.-]*")
_INTERVAL = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|millis|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|days?)")
_INTERVAL_SECONDS = {
    **dict.fromkeys(("ms", "millis", "millisecond", "milliseconds"), 0.001),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
    **dict.fromkeys(("day", "days"), 86400.0),
}
_TRIGGERS = ("ProcessingTime", "AvailableNow", "Once", "OneTime")
_OUTPUT_MODES = ("append", "complete", "update")
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?b?)", re.IGNORECASE)
_MIB = {"k": 1 / 1024, "m": 1, "": 1, "g": 1024, "t": 1024 * 1024}
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[-+]\d\d:\d\d)")
_NOT_CRON = re.compile(r"[^ -~]|\b[rRhH]\b")
"""What croniter accepts beyond cron: non-ASCII digits, and random (R) or hashed (H) fields."""
_SOME_DAY = datetime(2024, 1, 1)
_CRON_HINT = "for example `0 3 * * *`, daily at 03:00"
_TRANSFORMS = ("identity", "year", "month", "day", "hour", "bucket", "truncate")


def _dns_name(value: str) -> str:
    if _DNS.fullmatch(value) and len(value) <= MAX_NAME:
        return value
    if len(value) > MAX_NAME:
        raise refusal("bad-name", f"`{value}` is longer than {MAX_NAME} characters", "shorten the name")
    repaired = re.sub(r"[^a-z0-9]+", "-", value.lower()).strip("-")
    hint = f"for example `{repaired}`" if repaired else None
    raise refusal("bad-name", f"`{value}` is not a name: use lower-case letters, digits and `-` inside", hint)


def _example(value: str) -> str:
    return f"for example `{re.sub(r'[^0-9A-Za-z_]+', '_', value).strip('_') or 'rows'}`"


def _view_name(value: str) -> str:
    if _VIEW.fullmatch(value):
        return value
    message = f"`{value}` cannot name a view in SQL: use letters, digits and `_`"
    raise refusal("bad-view-name", message, _example(value))


def _output_name(value: str) -> str:
    if _OUTPUT.fullmatch(value):
        return value
    raise refusal(
        "bad-output-name", f"`{value}` cannot name an output: use letters, digits, `_`, `-` and `.`", _example(value)
    )


def _trigger_duration(value: object) -> float:
    """A duration in Spark's form (`10 seconds`), or in the form that all other durations have."""
    match = _INTERVAL.fullmatch(str(value).strip().lower())
    try:
        seconds = float(match[1]) * _INTERVAL_SECONDS[match[2]] if match else duration(value)
    except PydanticCustomError:
        seconds = 0.0
    if seconds <= 0:
        raise refusal(
            "bad-duration", f"`{value}` is not a duration", "write `10 seconds`, `500 ms`, `1 minute` or `5m`"
        )
    return seconds


def _output_mode(value: object) -> object:
    if str(value).lower() in _OUTPUT_MODES:
        return str(value).lower()
    hint = did_you_mean(str(value), _OUTPUT_MODES) or f"use one of {', '.join(_OUTPUT_MODES)}"
    raise refusal("bad-value", f"there is no outputMode `{value}`", hint)


def _trigger_mode(value: object) -> object:
    modes = {mode.lower(): mode for mode in (*_TRIGGERS, "Continuous")}
    if str(value).lower() == "continuous":
        message = "the triggerMode Continuous has no batches, and every write of Catchment is one"
        raise refusal(
            "unsupported-trigger", message, "use ProcessingTime with a short triggerDuration, or leave it out"
        )
    if str(value).lower() in modes:
        return modes[str(value).lower()]
    hint = did_you_mean(str(value), _TRIGGERS) or f"use one of {', '.join(_TRIGGERS)}, or leave it out"
    raise refusal("bad-value", f"there is no triggerMode `{value}`", hint)


def _memory(value: str) -> str:
    """An amount of memory as Spark spells it: `1Gi` is `1024m`, a bare number counts MiB."""
    match = _MEMORY.fullmatch(value.strip())
    mebibytes = float(match[1]) * _MIB[match[2].lower()] if match else 0
    if mebibytes < 1:
        raise refusal("bad-memory", f"`{value}` is not an amount of memory", "write `1024m` or `2g`")
    return f"{int(mebibytes)}m"


def _cron(value: str) -> str:
    from croniter import croniter  # slow to import, and few workflows have a schedule

    fields = len(value.split())
    if fields not in (5, 6):
        raise refusal("bad-cron", f"`{value}` has {fields} fields; cron takes 5, or 6 with seconds first", _CRON_HINT)
    if _NOT_CRON.search(value) or not croniter.is_valid(value, second_at_beginning=fields == 6):
        raise refusal("bad-cron", f"`{value}` is not a cron expression", _CRON_HINT)
    if not _ever(value, fields):
        raise refusal("bad-cron", f"`{value}` names a day that does not exist", _CRON_HINT)
    return value


def _ever(cron: str, fields: int) -> bool:
    from croniter import CroniterBadDateError, croniter

    try:
        croniter(cron, _SOME_DAY, second_at_beginning=fields == 6).get_next()
    except CroniterBadDateError:
        return False
    return True


def _timezone(value: str) -> str:
    try:
        zoneinfo.ZoneInfo(value)
    except (KeyError, ValueError, OSError) as error:
        hint = did_you_mean(value, zoneinfo.available_timezones()) or "for example `Europe/Berlin`"
        raise refusal("bad-timezone", f"there is no time zone `{value}`", hint) from error
    return value


def _timestamp(value: str) -> str:
    try:
        if _TIMESTAMP.fullmatch(value):
            as_written(value)
            return value
    except ValueError:
        pass
    raise refusal("bad-timestamp", f"`{value}` is not an RFC 3339 time", "for example `2030-01-31T23:59:45Z`")


def _moment(value: object) -> int:
    try:
        return milliseconds(str(value))
    except ValueError as error:
        raise refusal("bad-timestamp", f"`{value}` is no moment", EXAMPLE) from error


def _save_mode(value: str) -> str:
    if value.lower() in ("append", "overwrite"):
        return value.lower()
    hint = did_you_mean(value, ("append", "overwrite")) or "use `append` or `overwrite`"
    raise refusal("bad-save-mode", f"there is no saveMode `{value}`", hint)


def _transform(value: str) -> str:
    lower = value.lower()
    singular = lower[:-1] if lower in ("years", "months", "days", "hours") else lower
    if singular in _TRANSFORMS:
        return singular
    hint = did_you_mean(value, _TRANSFORMS) or f"use one of {', '.join(_TRANSFORMS)}"
    raise refusal("bad-transform", f"there is no partition transform `{value}`", hint)


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


DnsName = Annotated[
    Text,
    AfterValidator(_dns_name),
    WithJsonSchema({"type": "string", "pattern": f"^{_DNS.pattern}$", "maxLength": MAX_NAME}),
]
ViewName = Annotated[Text, AfterValidator(_view_name), WithJsonSchema({"type": "string"})]
OutputName = Annotated[Text, AfterValidator(_output_name), WithJsonSchema({"type": "string"})]
TriggerDuration = Annotated[
    float,
    BeforeValidator(_trigger_duration),
    WithJsonSchema({"type": ["string", "number"], "examples": ["10 seconds"]}),
]
TriggerMode = Annotated[
    Text, BeforeValidator(_trigger_mode), WithJsonSchema({"type": "string", "examples": list(_TRIGGERS)})
]
OutputMode = Annotated[
    Text, BeforeValidator(_output_mode), WithJsonSchema({"type": "string", "examples": list(_OUTPUT_MODES)})
]
Memory = Annotated[Text, AfterValidator(_memory), WithJsonSchema({"type": ["string", "number"]})]
Cron = Annotated[Text, AfterValidator(_cron), WithJsonSchema({"type": "string"})]
TimeZone = Annotated[Text, AfterValidator(_timezone), WithJsonSchema({"type": "string"})]
Timestamp = Annotated[Text, AfterValidator(_timestamp), WithJsonSchema({"type": "string", "format": "date-time"})]
Moment = Annotated[
    int,
    BeforeValidator(_moment),
    WithJsonSchema({"type": "string", "examples": ["2030-01-31 23:59:45"]}),
]
"""A point in time, as milliseconds since 1970."""
SaveMode = Annotated[
    Text,
    AfterValidator(_save_mode),
    WithJsonSchema({"type": "string", "pattern": "^([Aa]ppend|[Oo]verwrite)$", "examples": ["append", "overwrite"]}),
]
Transform = Annotated[
    Text, AfterValidator(_transform), WithJsonSchema({"type": "string", "examples": list(_TRANSFORMS)})
]
LogLevel = Annotated[Literal["DEBUG", "INFO", "WARN", "ERROR"], BeforeValidator(_upper)]
SortMode = Annotated[Literal["partition", "global"], BeforeValidator(_lower)]
SortOrder = Annotated[Literal["asc", "desc"], BeforeValidator(_lower)]
CommitWay = Annotated[Literal["buffered", "direct"], BeforeValidator(_lower)]
Conflict = Annotated[Literal["last-wins", "fail", "rerun"], BeforeValidator(_lower)]
BadRows = Annotated[Literal["fail", "drop", "quarantine"], BeforeValidator(_lower)]
Catchup = Annotated[Literal["none", "last", "all"], BeforeValidator(_lower)]
