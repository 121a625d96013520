"""Ticks of schedules: each is claimed by one scheduler, belongs to one run, and is settled once.

The outcome of a tick is that of its run, even after a person has resumed the run. A tick that never had a run, or whose
run was given up, has an outcome of its own. A tick is unsettled from its claim until it has an outcome.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, func, insert, not_, or_, select, update

from catchment.store.database import Database, database_time, insert_missing
from catchment.store.leases import Lease, Leases, is_held
from catchment.store.records import TickRecord
from catchment.store.runs import lease_name
from catchment.store.schema import attempts, jobs, leases, runs, schedules, ticks

WhileBusy = Literal["start", "skip", "wait", "replace"]
"""What happens to a tick while an earlier one of its workflow is unsettled."""
Answer = Literal["claimed", "skipped", "taken", "busy"]
_RUN_LEASES = leases.alias("run_leases")
_OWNER_LEASES = leases.alias("owner_leases")


def scheduler_lease(owner: str) -> str:
    """The lease that a scheduler holds while it lives."""
    return f"scheduler/{owner}"


@dataclass(frozen=True)
class Claim:
    """What a scheduler wants to do about a tick."""

    workflow: str
    tick: float
    owner: str
    run_id: str
    """The id that its run will have, whichever scheduler starts it: this is why a tick never has two runs."""
    while_busy: WhileBusy = "start"


class Ticks:
    """Claims, updates and reads ticks."""

    def __init__(self, database: Database, leases: Leases) -> None:
        self._database = database
        self._leases = leases

    def follow(self, workflow: str, rule: str, now: float) -> float:
        """The time up to which the ticks of a workflow are decided; now, if the workflow or its rule is new."""
        with self._database.writing() as connection:
            insert_missing(connection, schedules, {"workflow": workflow, "rule": rule, "decided": now})
            decided = _decided(connection, workflow)
            known = schedules.c.workflow == workflow, schedules.c.rule != rule
            changed = connection.execute(update(schedules).where(*known).values(rule=rule, decided=now)).rowcount
            return now if changed else decided

    def pass_over(self, workflow: str, until: float) -> None:
        """Decide that ticks up to a moment are not run, except those that are claimed already."""
        with self._database.writing() as connection:
            _move(connection, workflow, until)

    def claim(self, claim: Claim) -> Answer:
        """Claim a tick; only one scheduler succeeds. `busy` means not yet: try again later."""
        with self._database.writing() as connection:
            _decided(connection, claim.workflow)  # claims of one workflow take turns, so that none overlooks another
            if _is_there(connection, claim):
                return "taken"
            busy = _unsettled(connection, claim.workflow)
            if busy and claim.while_busy == "replace":
                _ask(connection, "a later tick takes its place", ticks.c.workflow == claim.workflow)
            if busy and claim.while_busy in ("wait", "replace"):
                return "busy"
            reason = f"run {busy} of an earlier tick is not over" if busy and claim.while_busy == "skip" else None
            _insert(connection, claim, reason)
            return "skipped" if reason else "claimed"

    def drop(self, claim: Claim, reason: str) -> bool:
        """Record that a tick is not run; False if it was claimed already."""
        with self._database.writing() as connection:
            _decided(connection, claim.workflow)
            if _is_there(connection, claim):
                return False
            _insert(connection, claim, reason)
            return True

    def unsettled(self, workflows: Collection[str]) -> list[TickRecord]:
        """The unsettled ticks of these workflows, oldest first."""
        query = _records().where(ticks.c.workflow.in_(workflows), _is_unsettled()).order_by(ticks.c.tick)
        with self._database.reading() as connection:
            return [_record(row) for row in connection.execute(query)]

    def find(self, workflow: str, tick: float) -> TickRecord | None:
        """One tick; None if it was not claimed."""
        query = _records().where(ticks.c.workflow == workflow, ticks.c.tick == tick)
        with self._database.reading() as connection:
            row = connection.execute(query).one_or_none()
        return _record(row) if row else None

    def newest(self, limit: int, workflow: str | None = None) -> list[TickRecord]:
        """The last ticks, newest first; of one workflow or of all."""
        query = _records().order_by(ticks.c.tick.desc(), ticks.c.workflow).limit(limit)
        with self._database.reading() as connection:
            rows = connection.execute(query.where(ticks.c.workflow == workflow) if workflow else query).all()
        return [_record(row) for row in rows]

    def adopt(self, tick: TickRecord, owner: str) -> bool:
        """Make a scheduler the owner of a tick in place of its last owner; False if another one was quicker."""
        return self._change(tick, owner=owner)

    def tried(self, tick: TickRecord) -> bool:
        """Count one more start of its run; False if the tick has another owner by now, or is settled."""
        return self._change(tick, tries=ticks.c.tries + 1)

    def ask(self, tick: TickRecord, reason: str) -> None:
        """Ask the run of a tick to stop; the process of the run polls for this."""
        with self._database.writing() as connection:
            _ask(connection, reason, *_this(tick))

    def give_up(self, tick: TickRecord, lease: Lease, outcome: str, reason: str, error: object = None) -> None:
        """Settle a tick whose run is dead or never began, under the run's lease; an ended run stays as it is."""
        with self._leases.holding(lease) as connection:
            changed = connection.execute(
                update(ticks)
                .where(*_this(tick), ticks.c.outcome.is_(None), not_(_run_ended()))
                .values(outcome=outcome, reason=reason, error=error)
            ).rowcount
            if changed:
                _end_run(connection, str(tick.run_id), outcome)

    def _change(self, tick: TickRecord, **values: Any) -> bool:
        mine = (*_this(tick), ticks.c.owner == tick.owner, ticks.c.outcome.is_(None))
        with self._database.writing() as connection:
            return connection.execute(update(ticks).where(*mine).values(**values)).rowcount == 1


def _this(tick: TickRecord | Claim) -> tuple[ColumnElement[bool], ...]:
    return ticks.c.workflow == tick.workflow, ticks.c.tick == tick.tick


def _decided(connection: Connection, workflow: str) -> float:
    """The time up to which the ticks are decided; locks the row until the transaction ends."""
    query = select(schedules.c.decided).where(schedules.c.workflow == workflow).with_for_update()
    return float(connection.execute(query).scalar_one())


def _move(connection: Connection, workflow: str, until: float) -> None:
    behind = (schedules.c.workflow == workflow, schedules.c.decided < until)
    connection.execute(update(schedules).where(*behind).values(decided=until))


def _is_there(connection: Connection, claim: Claim) -> bool:
    return connection.scalar(select(func.count()).select_from(ticks).where(*_this(claim))) == 1


def _insert(connection: Connection, claim: Claim, skipped: str | None) -> None:
    row = {
        "workflow": claim.workflow,
        "tick": claim.tick,
        "owner": claim.owner,
        "run_id": None if skipped else claim.run_id,
        "tries": 0,
        "claimed": database_time(),
        "outcome": "skipped" if skipped else None,
        "reason": skipped,
    }
    connection.execute(insert(ticks).values(row))
    _move(connection, claim.workflow, claim.tick)


def _is_unsettled() -> ColumnElement[bool]:
    return and_(ticks.c.outcome.is_(None), or_(runs.c.status.is_(None), runs.c.status == "running"))


def _unsettled(connection: Connection, workflow: str) -> str | None:
    """The run of the oldest unsettled tick of a workflow; None if there is none."""
    with_runs = ticks.outerjoin(runs, runs.c.id == ticks.c.run_id)
    query = select(ticks.c.run_id).select_from(with_runs).where(ticks.c.workflow == workflow, _is_unsettled())
    run_id: str | None = connection.scalar(query.order_by(ticks.c.tick).limit(1))
    return run_id


def _ask(connection: Connection, reason: str, *which: ColumnElement[bool]) -> None:
    open_ = (*which, ticks.c.outcome.is_(None), ticks.c.asked.is_(None), not_(_run_ended()))
    connection.execute(update(ticks).where(*open_).values(asked=reason))


def _run_ended() -> ColumnElement[bool]:
    return select(runs.c.id).where(runs.c.id == ticks.c.run_id, runs.c.status != "running").exists()


def _end_run(connection: Connection, run_id: str, outcome: str) -> None:
    now = database_time()
    left = (jobs.c.run_id == run_id, jobs.c.finished.is_(None))
    connection.execute(update(jobs).where(*left).values(status="cancelled", finished=now))
    begun = (attempts.c.run_id == run_id, attempts.c.finished.is_(None))
    connection.execute(update(attempts).where(*begun).values(status="lost", finished=now))
    connection.execute(update(runs).where(runs.c.id == run_id).values(status=outcome, finished=now))


def _records() -> Select[Any]:
    alive = func.coalesce(is_held(_RUN_LEASES), False)
    return select(
        ticks,
        runs.c.status.label("run_status"),
        alive.label("run_alive"),
        func.coalesce(is_held(_OWNER_LEASES), False).label("owner_alive"),
        (func.coalesce(runs.c.finished, database_time()) - func.coalesce(runs.c.resumed, runs.c.started)).label(
            "seconds"
        ),
    ).select_from(
        ticks.outerjoin(runs, runs.c.id == ticks.c.run_id)
        .outerjoin(_RUN_LEASES, _RUN_LEASES.c.name == lease_name("") + ticks.c.run_id)
        .outerjoin(_OWNER_LEASES, _OWNER_LEASES.c.name == scheduler_lease("") + ticks.c.owner)
    )


def _record(row: Row[Any]) -> TickRecord:
    return TickRecord(
        workflow=row.workflow,
        tick=row.tick,
        owner=row.owner,
        run_id=row.run_id,
        tries=row.tries,
        status=_status(row),
        asked=row.asked,
        reason=row.reason or row.asked,
        error=row.error,
        owner_alive=bool(row.owner_alive),
        run_alive=bool(row.run_alive),
        seconds=row.seconds or 0.0,
    )


def _status(row: Row[Any]) -> str:
    if row.run_status is None:
        return str(row.outcome or "claimed")
    return "dead" if row.run_status == "running" and not row.run_alive else str(row.run_status)
