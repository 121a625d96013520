"""Recovery: publishes sealed writes, abandons open writes of lost engines, removes the files of abandoned writes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from catchment.commit.abandonment import abandon_lost
from catchment.commit.publisher import Publisher
from catchment.errors import CommitConflict, JobError
from catchment.store import Store
from catchment.store.activity import ActiveWrite
from catchment.store.ledger import Ledger
from catchment.store.writes import Entry


@dataclass(frozen=True)
class Refusal:
    """A write that cannot be published, and why."""

    write_id: str
    code: str
    message: str
    hint: str | None


@dataclass(frozen=True)
class Unfinished:
    """What there is to recover for one table, according to the metastore."""

    target: str
    sealed: tuple[str, ...]
    """Writes that will be published."""
    set_aside: tuple[Refusal, ...]
    """Sealed writes that could not be published; a person decides whether to retry or drop them."""
    lost: tuple[str, ...]
    """Open writes of lost engines: they will never be sealed."""
    alive: tuple[str, ...]
    """Open writes of live engines: only those engines may touch them."""
    buffers: tuple[str, ...]
    """Directories of lost writes and of writes abandoned earlier: these may be removed."""
    dataset: Mapping[str, Any]
    """The table or the files, as the plan resolved them."""

    @property
    def recoverable(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.sealed or self.set_aside or self.lost or self.buffers)


def unfinished(store: Store, wanted: Collection[str] | None = None) -> tuple[Unfinished, ...]:
    """The tables with open or sealed writes or with leftovers: all of them, or only the wanted ones."""
    active = store.activity.writes()
    return tuple(
        _of_table(target, dataset, [write for write in active if write.target == target], store.ledger)
        for target, dataset in store.ledger.unfinished().items()
        if wanted is None or target in wanted
    )


def _reason(write: ActiveWrite) -> Refusal:
    error = write.error or {}
    return Refusal(write.write_id, str(error["code"]), str(error["message"]), error.get("hint"))


def _of_table(target: str, dataset: Mapping[str, Any], here: Sequence[ActiveWrite], ledger: Ledger) -> Unfinished:
    lost = [write for write in here if write.state == "open" and not write.alive]
    left = [buffer for _, buffer in ledger.leftovers(target)]
    return Unfinished(
        target,
        sealed=tuple(write.write_id for write in here if write.state == "sealed" and write.error is None),
        set_aside=tuple(_reason(write) for write in here if write.state == "sealed" and write.error is not None),
        lost=tuple(write.write_id for write in lost),
        alive=tuple(write.write_id for write in here if write.state == "open" and write.alive),
        buffers=(*(write.buffer for write in lost if write.buffered), *left),
        dataset=dataset,
    )


@dataclass(frozen=True)
class Recovered:
    """What recovery did to one table."""

    published: tuple[str, ...]
    refused: tuple[Refusal, ...]
    abandoned: tuple[str, ...]
    removed: tuple[str, ...]
    """Directories of abandoned writes whose files are gone."""
    kept: tuple[str, ...]
    """Directories whose files stay: the table's history refers to them, or their removal was not requested."""


Remove = Callable[[Sequence[str]], Sequence[str]]
"""Removes the given buffers where that is safe; returns those that it removed."""


def keep_buffers(buffers: Sequence[str]) -> tuple[str, ...]:
    """Remove nothing: no one has agreed to lose the files of abandoned writes."""
    return ()


def recover(publisher: Publisher[Any], remove: Remove) -> Recovered:
    """Recover one table or directory of files."""
    abandoned = abandon_lost(publisher.ledger, publisher.target)
    # Listed before publishing: the user has not agreed to lose the files of writes that are refused only now.
    left = [buffer for _, buffer in publisher.ledger.leftovers(publisher.target)]
    published, refused = _finish(publisher)
    removed = tuple(remove(left))
    publisher.ledger.forget(removed)
    kept = tuple(buffer for buffer in left if buffer not in removed)
    return Recovered(published, refused, abandoned, removed, kept)


def give_up_dropped(ledger: Ledger, target: str) -> Recovered:
    """Abandon the writes of a dropped table; their files stay, because without its history none may be removed."""
    abandoned = abandon_lost(ledger, target)
    left = tuple(buffer for _, buffer in ledger.leftovers(target))
    sealed = (write for write in map(ledger.find, ledger.sealed_ids(target)) if write is not None)
    given_up = [write for write in sealed if ledger.abandon(write, _dropped(write))]
    ledger.forget((*left, *(write.intent.buffer for write in given_up)))
    refused = tuple(Refusal(write.write_id, **_dropped(write)) for write in given_up)
    return Recovered((), refused, abandoned, (), left)


def _dropped(write: Entry) -> dict[str, str]:
    return {
        "code": "table-dropped",
        "message": f"{write.intent.target} was dropped before {write.write_id} was published",
        "hint": f"if its rows are wanted, run its job again; its files stay in {write.intent.buffer}",
    }


def _finish(publisher: Publisher[Any]) -> tuple[tuple[str, ...], tuple[Refusal, ...]]:
    """Publish what is sealed now; waits for writes that a live engine is about to publish."""
    published, refused = [], []
    for write_id in publisher.ledger.sealed_ids(publisher.target):
        try:
            published.append(publisher.publish(write_id).write_id)
        except (JobError, CommitConflict) as error:
            refused.append(Refusal(write_id, error.code, error.message, error.hint))
    return tuple(published), tuple(refused)
