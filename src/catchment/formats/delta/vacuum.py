"""Removes the files that no recent version needs, with Delta's own VACUUM.

VACUUM goes by age alone: it removes every file older than a number of hours that is not in the newest version and was
not removed from the table since then. So that age must cover everything that may still be needed: files of unfinished
writes, which the log does not know yet, and files of versions that readers and incremental jobs have yet to read.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from pyspark.sql import Row, SparkSession

from catchment.commit.listener import Listener
from catchment.errors import JobError
from catchment.formats.delta.log import Head, Log
from catchment.formats.delta.session_settings import set_for_now
from catchment.formats.model import Facts, Follower, MaintenanceResult, Needs
from catchment.jvm.causes import is_a
from catchment.jvm.classes import Jvm
from catchment.plan.model import Dataset, Expire
from catchment.store.in_flight import CLOCKS_APART_SECONDS

HOUR_MS = 60 * 60 * 1000
LEAST_HOURS = 1
"""Files of the last hour always stay, because a write may begin while old files are being removed."""
SETTINGS = {
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    # Since 4.1, Delta would ignore the given age, and remove files of writes that were sealed a long time ago.
    "spark.databricks.delta.vacuum.retentionWindowIgnore.enabled": "false",
    # It would commit two versions of its own, without the table's lease.
    "spark.databricks.delta.vacuum.logging.enabled": "false",
}
LISTING = {"spark.sql.sources.parallelPartitionDiscovery.parallelism": "16"}
"""The number of tasks that list directories: on one machine, the default of ten thousand wastes minutes."""
_GONE = "java.io.FileNotFoundException"


@dataclass(frozen=True)
class Vacuum:
    """The removal of old files of one table."""

    spark: SparkSession
    dataset: Dataset
    needs: Needs
    listener: Listener
    operation: Expire
    log: Log
    head: Head

    def run(self) -> MaintenanceResult:
        """Remove what nobody needs."""
        facts = self.facts()
        if facts["files"]:
            self._vacuum()
        return MaintenanceResult(len(facts["files"]), facts=facts)

    def facts(self) -> Facts:
        """What would be removed; Delta lists at most a thousand files."""
        if self.operation.snapshot_ids or self.operation.deletes:
            raise JobError(
                "Delta removes files by their age, as many at once as it likes",
                code="unsupported-option",
                hint="say how old a file must be (--older-than), and neither which versions nor how many at once",
            )
        followers = self._followers()
        self._warn(followers)
        files = sorted(str(row.path) for row in self._vacuum(" DRY RUN"))
        return {
            "snapshots": [],  # versions leave the log by themselves
            "files": files,
            "removed_files": len(files),
            "kept": {},
            "followers": [each.facts() for each in followers if self._time_of(each) < self._before],
        }

    def _vacuum(self, how: str = "") -> list[Row]:
        is_local = str(self.spark.sparkContext.master).startswith("local")
        with set_for_now(self.spark, {**SETTINGS, **(LISTING if is_local else {})}):
            sql = f"VACUUM {self.dataset.identifier} RETAIN {self._hours()} HOURS{how}"
            return list(self.spark.sql(sql).collect())

    def _hours(self) -> int:
        """How old a file must be; Delta counts whole hours."""
        oldest = min((self._before, *self._limits(self._followers()).values()))
        return max(LEAST_HOURS, math.ceil((_now() - oldest) / HOUR_MS))

    @property
    def _before(self) -> float:
        """The moment before which files are old: as requested, or by the time that the table keeps removed files."""
        asked = self.operation.before
        logs = Jvm.of(self.spark)("org.apache.spark.sql.delta.DeltaLog")
        before = _now() - int(logs.tombstoneRetentionMillis(self.head.snapshot.metadata())) if asked is None else asked
        return min(before, self._retained())

    def _retained(self) -> float:
        """When the oldest version that must be kept was committed; infinite if that is only the newest one."""
        kept = list(islice(self.log.commits(self.head.version), self.operation.retain_last))
        return float(kept[-1].info.get("timestamp", 0)) if len(kept) > 1 else math.inf

    def _limits(self, followers: tuple[Follower, ...]) -> Mapping[str, float]:
        """The moments since which files are needed, by who needs them."""
        readers = self.needs.readers_since()
        limits = {"unfinished writes": self.needs.writes(self.head.id).oldest * 1000}
        if readers is not None:
            limits["running jobs and queries"] = (readers - CLOCKS_APART_SECONDS) * 1000
        if followers:
            limits["incremental jobs"] = min(map(self._time_of, followers))
        return limits

    def _followers(self) -> tuple[Follower, ...]:
        names = {f"{version}@{self.head.id}": version for version in range(self.head.version + 1)}
        return tuple(self.needs.followers(names))

    def _time_of(self, follower: Follower) -> float:
        """When the version that a job continues from was committed; infinite if it is gone and the job cannot go on."""
        try:
            return float(self.log.commit(follower.snapshot).info.get("timestamp", 0))
        except Exception as error:
            if is_a(error, _GONE):
                return math.inf
            raise

    def _warn(self, followers: tuple[Follower, ...]) -> None:
        limits = {reason: moment for reason, moment in self._limits(followers).items() if moment < self._before}
        for reason in limits:
            self.listener.warn(f"{self.dataset.address}: some files are kept, because {reason} may need them")


def _now() -> float:
    return time.time() * 1000
