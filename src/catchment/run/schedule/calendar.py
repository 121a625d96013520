"""When a schedule ticks: from cron and time zone to moments, right where clocks change. Nothing here knows the time."""

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
"""Where croniter has the hours, with seconds or without."""
_NEARBY = timedelta(hours=25)
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class Calendar:
    """The ticks of one schedule. All moments are in UTC.

    A time of day that clocks skip is moved on by as much as they are, so that a nightly tick is not lost; one that
    they show twice counts the first time. Only a schedule that ticks in every hour follows the clock through both.
    Several times that come to one moment are one tick.
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
        """What makes this calendar another one: ticks of an earlier rule are not missed under this one."""
        return f"{self.cron} {self.zone.key}"

    def local(self, moment: datetime) -> datetime:
        """A moment as clocks show it where the schedule is."""
        return moment.astimezone(self.zone)

    def _in_order(self, moment: datetime) -> Iterator[datetime]:
        waiting: list[datetime] = []
        for time in self._times(self._wall(moment)):
            moments = self._moments(time)
            while waiting and waiting[0] < min(moments):  # no later time of day can come before this
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
        """A time of day read with the clock as it is before a change, and as it is after it."""
        before, after = (time.replace(tzinfo=self.zone, fold=fold).astimezone(timezone.utc) for fold in (0, 1))
        return before, after

    def _wall(self, moment: datetime) -> datetime:
        """What the clock shows, without a zone; set back where a change is near, whose times come late or twice."""
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
    """The calendar of a workflow's schedule; in UTC where it names no zone."""
    end = _end(schedule.end_on) if schedule.end_on else None
    return Calendar(schedule.cron, ZoneInfo(schedule.timezone or "UTC"), end)


def _end(text: str) -> datetime:
    return moment(text).replace(microsecond=0).astimezone(timezone.utc)


def _offset(local: datetime) -> timedelta:
    return local.utcoffset() or timedelta()
