"""The simplest lake there can be: how a table may look after each step, and nothing of how it gets there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from catchment.store.writes import WriteMode

Rows = tuple[tuple[int, int], ...]
"""(part, id) of every row, in order, repetitions included."""

PARTS = 3


@dataclass(frozen=True)
class Effect:
    """What a write does to a table."""

    mode: WriteMode
    rows: Rows

    def on(self, before: Rows) -> Rows:
        """The table afterwards."""
        if self.mode == "merge":
            return self._merged(before)
        replaced = {part for part, _ in self.rows}
        kept = {
            "append": before,
            "overwrite": (),
            "overwrite-partitions": tuple(row for row in before if row[0] not in replaced),
            "delete": tuple(row for row in before if row[0] not in replaced),
        }[self.mode]
        return tuple(sorted((*kept, *(() if self.mode == "delete" else self.rows))))

    def _merged(self, before: Rows) -> Rows:
        """Rows that are there move to the next part, so that a merge that is made twice is seen; others are new."""
        known, merged = {id for _, id in before}, {id for _, id in self.rows}
        moved = [((part + 1) % PARTS if id in merged else part, id) for part, id in before]
        return tuple(sorted((*moved, *(row for row in self.rows if row[1] not in known))))


@dataclass(frozen=True)
class World:
    """One way the table may be: what is seen, and what is sealed and will be seen, in this order."""

    seen: Rows = ()
    promised: tuple[Effect, ...] = ()

    def promise(self, effect: Effect) -> World:
        """A write was sealed, and nobody published it yet."""
        return World(self.seen, (*self.promised, effect))

    def at_once(self, effect: Effect) -> World:
        """A change of rows was committed; what is promised comes later."""
        return World(effect.on(self.seen), self.promised)

    def without(self, effect: Effect) -> World:
        """A promise was taken back."""
        return World(self.seen, tuple(each for each in self.promised if each != effect))

    def replaced(self, rows: Rows) -> frozenset[World]:
        """Somebody replaced the table: what was promised for the old one is refused, unless nobody can tell."""
        return frozenset({World(rows), World(rows, self.promised)})

    def settled(self) -> World:
        """Everything that was promised is published."""
        seen = self.seen
        for effect in self.promised:
            seen = effect.on(seen)
        return World(seen)

    def then(self, *effects: Effect) -> World:
        """Writes are acknowledged: whatever was promised before came first."""
        seen = self.settled().seen
        for effect in effects:
            seen = effect.on(seen)
        return World(seen)


def seen_as(worlds: Iterable[World], rows: Rows) -> frozenset[World]:
    """Those of the possible worlds in which a reader sees these rows."""
    return frozenset(world for world in worlds if world.seen == rows)
