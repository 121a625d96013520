"""What others still need of a table: unfinished writes, readers, incremental jobs and published versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from catchment.formats.model import Follower
from catchment.store import Store
from catchment.store.in_flight import InFlight
from catchment.store.publications import Publication
from catchment.store.states import FIRST, LAST, SNAPSHOT, States


@dataclass(frozen=True)
class Retention:
    """The needs of one table, as the metastore knows them."""

    store: Store
    target: str

    def of(self, target: str) -> Retention:
        """The needs of another table."""
        return replace(self, target=target)

    def writes(self, table_uuid: str | None = None) -> InFlight:
        """What unfinished writes need; with the table's uuid, also those under another name of it."""
        return self.store.ledger.in_flight(self.target, table_uuid)

    def readers_since(self) -> float | None:
        """When the oldest current reader began."""
        return self.store.readers.oldest()

    def followers(self, history: Mapping[str, int]) -> tuple[Follower, ...]:
        """The incremental jobs whose next window begins at one of these snapshots, by the names that states have."""
        return followers(self.store.states, history)

    def publications(self) -> tuple[Publication, ...]:
        """The versions that were published for readers, oldest first."""
        return self.store.publications.of_table(self.target)


def followers(states: States, known: Mapping[str, int]) -> tuple[Follower, ...]:
    """The incremental jobs whose next window begins at a snapshot of this history.

    The names of snapshots are random, so a name identifies its table, even if the table was renamed.
    """
    found = {
        (follower.workflow, follower.job, follower.input, follower.snapshot): follower
        for follower in (*_open_windows(states, known), *_stored(states, known))
    }
    return tuple(found.values())


def _stored(states: States, known: Mapping[str, int]) -> Iterator[Follower]:
    for state in states.all():
        snapshot = known.get(state.keys.get(SNAPSHOT, ""))
        if snapshot is not None:
            yield Follower(state.workflow, state.job, state.input, snapshot, state.changed)


def _open_windows(states: States, known: Mapping[str, int]) -> Iterator[Follower]:
    """Inputs with an open window, which will be finished from the snapshots that it was opened with."""
    for window in states.begun():
        for name, part in window.inputs.items():
            snapshot = known.get(part.values.get(FIRST) or part.values.get(LAST, ""))
            if snapshot is not None:
                yield Follower(window.workflow, window.job, name, snapshot, window.opened)
