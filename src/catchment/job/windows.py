"""Computes the window of an incremental input: the values of its keys, whether it has rows, and the rows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal, InvalidOperation
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pyspark.sql import DataFrame, SparkSession

from catchment.errors import CatchmentError, JobError, Position
from catchment.formats.failures import from_spark
from catchment.formats.model import History, Source
from catchment.formats.registry import open_format
from catchment.job.statements import Allowed, run_statement
from catchment.job.views import create_view
from catchment.plan.model import Incremental, InputPlan, JobPlan, Key, Template
from catchment.store.states import FIRST, LAST, SNAPSHOT, InputWindow, State, Window
from catchment.timestamps import as_written, in_utc_unless_zoned

ZONE = "spark.sql.session.timeZone"
ESCAPES = "spark.sql.parser.escapedStringLiterals"
FINISH_OR_DROP = "run the workflow as it was to finish it, or drop it with `catchment state set` or `state reset`"


def plan_window(spark: SparkSession, source: InputPlan, state: State | None) -> InputWindow:
    """The window that an incremental input reads next; without `after` there is nothing new and the state stays."""
    if source.incremental is not None:
        return _plan_by_keys(spark, source, source.incremental, state)
    return _plan_by_history(spark, source, state)


def window_with(spark: SparkSession, source: InputPlan, window: Incremental, given: Mapping[str, str]) -> InputWindow:
    """The window for given values of some keys, whether it has rows or not; the other keys are computed."""
    _check_settings(spark, source, window, None, _zone(spark))
    _whole(spark, source, window)
    values = _values(spark, window, given)
    if len(values) < len(window.keys):
        missing = next(each for each in window.keys if each.name not in values)
        raise _bad_key(missing, "the source has no value for it", "backfill when there is data")
    return InputWindow(values, None, _zone(spark))


def read_window(spark: SparkSession, source: InputPlan, part: InputWindow | None) -> dict[str, DataFrame]:
    """The rows of an input's window, and the views that it needs, by name."""
    if source.incremental is not None:
        return _read_keys(spark, source, source.incremental, part)
    name = source.dataset.format
    if part is None or part.after is None:
        return {source.name: open_format(name, Source).read(spark, source).limit(0)}
    first, last = part.values.get(FIRST), part.values[LAST]
    return {source.name: open_format(name, History).read_commits(spark, source, first, last)}


def _read_keys(
    spark: SparkSession, source: InputPlan, window: Incremental, part: InputWindow | None
) -> dict[str, DataFrame]:
    whole = _whole(spark, source, window)
    values = part.values if part else _values(spark, window, {})
    # If there was nothing new, nothing is read; rows that have arrived since belong to the next window.
    nothing = len(values) < len(window.keys) or (part is not None and part.after is None)
    known = {key.name: values.get(key.name, "") for key in window.keys}
    frame = _query(spark, window.window, known, f"the window of input {source.name}")
    return {window.context: whole, source.name: frame.limit(0) if nothing else frame}


def check_fits(spark: SparkSession, job: JobPlan, window: Window) -> None:
    """Raise if an open window has other inputs, keys or another time zone than the job has now."""
    sources = [source for source in job.inputs if source.moves]
    zone = _zone(spark)
    if set(window.inputs) != {source.name for source in sources} or not all(
        _fits(source, window.inputs[source.name], zone) for source in sources
    ):
        raise JobError(
            f"window {window.number} was opened ({window.opened_by}) with other inputs, keys or another time zone than "
            "the job has now",
            code="window-mismatch",
            where=job.where,
            hint=FINISH_OR_DROP,
        )


def check_outputs(job: JobPlan, window: Window) -> None:
    """Raise if an output has changed since the window was opened: its rows would be written twice."""
    now = dict(job.reported)
    for name, address in (window.outputs or {}).items():
        if now.get(name) != address:
            raise JobError(
                f"window {window.number} was opened ({window.opened_by}) with the output {name} to {address}, but the "
                f"job now has {f'it at {now[name]}' if name in now else 'no such output'}",
                code="window-mismatch",
                where=job.where,
                hint="the window is done: start a new run" if window.status == "done" else FINISH_OR_DROP,
            )


def _fits(source: InputPlan, part: InputWindow, zone: str) -> bool:
    if source.incremental is None:
        return part.after is None or LAST in part.values
    keys = {key.name for key in source.incremental.keys}
    return part.after is None or (set(part.values) == keys and part.zone == zone)


def described(part: InputWindow) -> str:
    """A window as text."""
    return ", ".join(f"{key} = {value}" for key, value in part.values.items())


def ends_after(part: InputWindow, moment: str) -> str | None:
    """The end of a window if it is after a moment; None if it is not, or if it is not a time."""
    now = as_written(moment)
    for value in (part.after or {}).values():
        end, zone = _time(value), _known_zone(part.zone)
        if end is not None and (end.tzinfo or zone) and (end if end.tzinfo else end.replace(tzinfo=zone)) > now:
            return value
    return None


def _known_zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return None  # Spark knows more names than Python does


def _plan_by_keys(spark: SparkSession, source: InputPlan, window: Incremental, state: State | None) -> InputWindow:
    zone = _zone(spark)
    _check_settings(spark, source, window, state, zone)
    _whole(spark, source, window)
    values = _values(spark, window, state.keys if state else {})
    nothing = InputWindow(values, None, zone)
    if len(values) < len(window.keys):
        return nothing
    after = {key: values[value] for key, value in window.state.items()}
    if not _moves(window, values):
        return nothing
    rows = _query(spark, window.window, values, f"the window of input {source.name}")
    return InputWindow(values, after, zone) if _has_rows(rows) or _has_newer(spark, window, values) else nothing


def _whole(spark: SparkSession, source: InputPlan, window: Incremental) -> DataFrame:
    frame = open_format(source.dataset.format, Source).read(spark, source)
    return create_view(frame, window.context)


def _values(spark: SparkSession, window: Incremental, stored: Mapping[str, str]) -> dict[str, str]:
    """The values of the keys in order, up to the first one that has no value."""
    values: dict[str, str] = {}
    for key in window.keys:
        value = stored.get(key.name) or _value(spark, key, values)
        if value is None:
            break
        values[key.name] = value
    return values


def _value(spark: SparkSession, key: Key, values: Mapping[str, str]) -> str | None:
    frame = _query(spark, key.sql, values, f"key {key.name}")
    if len(frame.columns) != 1:
        raise _bad_key(key, f"its query gives {len(frame.columns)} columns", "select exactly one value")
    try:
        rows = frame.toDF("value").selectExpr("cast(value as string)").limit(2).collect()
    except Exception as error:
        raise _at(from_spark(error, otherwise="sql-failed"), f"key {key.name}", key.sql.where) from error
    if len(rows) != 1:
        raise _bad_key(key, f"its query gives {'several rows' if rows else 'no row'}", "select exactly one value")
    if rows[0][0] is None and not key.live:
        raise _bad_key(key, "its value is NULL", "select a value that is always there, for example with coalesce")
    return None if rows[0][0] is None else str(rows[0][0])


def _moves(window: Incremental, values: Mapping[str, str]) -> bool:
    """Whether the window ends after its start; raises if it does not and will not when data arrives or time passes."""
    for key, value in window.state.items():
        before, after = values[key], values[value]
        stays = before == after or is_before(after, before)
        if stays and any(each.live for each in window.keys if each.name == value):
            return False
        if stays:
            raise JobError(
                f"the window does not move: it starts at {key} = {before} and ends at {value} = {after}",
                code="window-does-not-move",
                where=next(each.where for each in window.keys if each.name == value),
                hint=f"the query of `{value}` must return a value after `{key}`",
            )
    return True


def is_before(one: str, other: str) -> bool:
    """Whether one value is before another, as numbers or as times; False if they are neither."""
    numbers = _number(one), _number(other)
    if numbers[0] is not None and numbers[1] is not None:
        return numbers[0] < numbers[1]
    times = _time(one), _time(other)
    if times[0] is not None and times[1] is not None:
        return in_utc_unless_zoned(times[0]) < in_utc_unless_zoned(times[1])
    return False


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _time(text: str) -> datetime | None:
    try:
        return as_written(text)
    except ValueError:
        return None


def _has_rows(frame: DataFrame) -> bool:
    return bool(frame.limit(1).count())


def _has_newer(spark: SparkSession, window: Incremental, values: Mapping[str, str]) -> bool:
    """Whether there are rows after an empty window, so that the window is a gap to skip."""
    return window.newer is not None and _has_rows(_query(spark, window.newer, values, "the window without its end"))


def _plan_by_history(spark: SparkSession, source: InputPlan, state: State | None) -> InputWindow:
    if source.commits is not None:
        _check_state(source, state, {SNAPSHOT}, source.commits.where)
    known = state.keys.get(SNAPSHOT) if state else None
    span = open_format(source.dataset.format, History).commits(spark, source, known)
    if span is None:
        return InputWindow({}, None, _zone(spark))
    first, last = span
    values = {LAST: last} if first is None else {FIRST: first, LAST: last}
    return InputWindow(values, None if first == last else {SNAPSHOT: last}, _zone(spark))


def _query(spark: SparkSession, template: Template, values: Mapping[str, str], what: str) -> DataFrame:
    try:
        return run_statement(spark, template.filled(values), Allowed())
    except Exception as error:
        raise _at(from_spark(error, otherwise="sql-failed"), what, template.where) from error


def _at(problem: CatchmentError, what: str, where: Position) -> CatchmentError:
    if isinstance(problem, JobError):
        return problem.changed(message=f"{what}: {problem.message}", where=where)
    return problem


def _bad_key(key: Key, what: str, hint: str) -> JobError:
    return JobError(f"key {key.name}: {what}", code="bad-incremental-key", where=key.sql.where, hint=hint)


def _zone(spark: SparkSession) -> str:
    return str(spark.conf.get(ZONE))


def _check_settings(
    spark: SparkSession, source: InputPlan, window: Incremental, state: State | None, zone: str
) -> None:
    if spark.conf.get(ESCAPES, "false") == "true":
        raise JobError(
            f"input {source.name}: with {ESCAPES} values cannot be put into a query safely",
            code="setting-refused",
            where=window.where,
            hint=f"remove {ESCAPES} from `sparkConf`",
        )
    _check_state(source, state, set(window.state), window.where)
    if state is not None and state.keys and state.zone != zone:
        raise JobError(
            f"input {source.name}: its state was stored in the time zone {state.zone}, but the session uses {zone}",
            code="zone-changed",
            where=window.where,
            hint=f"set {ZONE} back to {state.zone}, or set the state again with `catchment state set`",
        )


def _check_state(source: InputPlan, state: State | None, keys: set[str], where: Position) -> None:
    """Raise if the state has other keys: it would be ignored, and the job would start from the beginning."""
    if state is not None and state.keys and set(state.keys) != keys:
        raise JobError(
            f"input {source.name}: its state has {', '.join(sorted(state.keys))}, but the workflow moves "
            f"{', '.join(sorted(keys))}",
            code="state-mismatch",
            where=where,
            hint="replace the state: `catchment state reset`, then `catchment state set`",
        )
