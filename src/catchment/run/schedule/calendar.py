"""Computes when a schedule ticks, from cron and time zone, and correctly when clocks change."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cached_property
from zoneinfo import ZoneInfo

from catchment.spec.model import Schedule
from catchment.timestamps import moment

FIELDS_WITH_SECONDS = 6
_HOUR = 1
"""The index of the hours in croniter's fields, with or without seconds."""
_NEARBY = timedelta(hours=25)
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class Calendar:
    """The ticks of one schedule. All moments are in UTC.

    When clocks go forward, a skipped time of day ticks later by the same amount, so that a nightly tick is not lost.
    When clocks go back, a repeated time of day ticks once, the first time; only a schedule that ticks in every hour
    ticks in both. Several times of day that fall on one moment are one tick.
    """

    cron: str
    zone: ZoneInfo
    end: datetime | None = None

    def after(self, moment: datetime) -> Iterator[datetime]:
        """Every tick later than a moment, in order; none later than the end."""
        last = moment
        for tick in self._in_order(moment):
            if self.end is not None and tick > self.end:
                return
            if tick > last:
                yield tick
                last = tick

    @property
    def rule(self) -> str:
        """Identifies the calendar: when the rule changes, ticks of the earlier rule do not count as missed."""
        return f"{self.cron} {self.zone.key}"

    def local(self, moment: datetime) -> datetime:
        """A moment in the schedule's time zone."""
        return moment.astimezone(self.zone)

    def _in_order(self, moment: datetime) -> Iterator[datetime]:
        waiting: list[datetime] = []
        for time in self._times(self._wall(moment)):
            moments = self._moments(time)
            while waiting and waiting[0] < min(moments):  # no later time of day can give an earlier moment
                yield heapq.heappop(waiting)
            for each in moments if self._hourly and moments[0] < moments[1] else moments[:1]:
                heapq.heappush(waiting, each)
        yield from sorted(waiting)

    def _times(self, start: datetime) -> Iterator[datetime]:
        from croniter import CroniterBadDateError, croniter  # slow to import

        times = croniter(self.cron, start, second_at_beginning=self._has_seconds)
        while True:
            try:
                yield times.get_next(datetime)
            except CroniterBadDateError:
                return

    def _moments(self, time: datetime) -> tuple[datetime, datetime]:
        """The moments of a time of day, by the UTC offset before and after a clock change."""
        before, after = (time.replace(tzinfo=self.zone, fold=fold).astimezone(timezone.utc) for fold in (0, 1))
        return before, after

    def _wall(self, moment: datetime) -> datetime:
        """The local time without a zone; earlier near a clock change, whose times of day come late or twice."""
        offsets = [_offset(self.local(moment + shift)) for shift in (-_NEARBY, timedelta(), _NEARBY)]
        back = max(offsets) - min(offsets)
        return (self.local(moment) - back).replace(tzinfo=None, microsecond=0) - (_SECOND if back else timedelta())

    @property
    def _has_seconds(self) -> bool:
        return len(self.cron.split()) == FIELDS_WITH_SECONDS

    @cached_property
    def _hourly(self) -> bool:
        from croniter import croniter

        return bool(croniter.expand(self.cron, second_at_beginning=self._has_seconds)[0][_HOUR] == ["*"])


def calendar_of(schedule: Schedule) -> Calendar:
    """The calendar of a workflow's schedule; UTC if it names no time zone."""
    end = _end(schedule.end_on) if schedule.end_on else None
    return Calendar(schedule.cron, ZoneInfo(schedule.timezone or "UTC"), end)


def _end(text: str) -> datetime:
    return moment(text).replace(microsecond=0).astimezone(timezone.utc)


def _offset(local: datetime) -> timedelta:
    return local.utcoffset() or timedelta()
