"""A YAML document as a tree in which every key and value knows its position; edits keep the positions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from catchment.errors import Position
from catchment.spec.sql_clause import SourceLine


class WrittenInt(int):
    """A whole number that remembers how it was written, for fields that take text."""

    written: str


class WrittenFloat(float):
    """A number that remembers how it was written: `4.10` stays `4.10` in fields that take text."""

    written: str


Plain = str | int | float | bool | None


@dataclass(frozen=True)
class ScalarNode:
    value: Plain
    text: str
    """The text of the value, before it was converted to a number or a boolean."""
    where: Position
    source: str = ""
    """The text in the file, with quotes, indentation and block indicator."""
    style: str | None = None
    """`|`, `>` or a quote; None for a plain scalar."""
    lines: tuple[SourceLine, ...] | None = None
    """Set where the text was changed after reading; otherwise `source_positions` derives it from `source`."""


@dataclass(frozen=True)
class Entry:
    """One key of a mapping: the position of the key, and its value."""

    where: Position
    node: Node


@dataclass(frozen=True)
class MapNode:
    where: Position
    entries: Mapping[str, Entry] = field(default_factory=dict)

    def get(self, key: str) -> Node | None:
        """The value of a key, or None."""
        entry = self.entries.get(key)
        return entry.node if entry else None

    def key_where(self, key: str) -> Position:
        """The position of a key, or of the mapping if it has no such key."""
        entry = self.entries.get(key)
        return entry.where if entry else self.where

    def having(self, key: str, entry: Entry) -> MapNode:
        """The same mapping with one entry set."""
        return replace(self, entries={**self.entries, key: entry})

    def without(self, *keys: str) -> MapNode:
        """The same mapping without some keys."""
        return replace(self, entries={key: entry for key, entry in self.entries.items() if key not in keys})

    def renamed(self, old: str, new: str) -> MapNode:
        """The same mapping with one key spelled differently, in the same place."""
        return replace(self, entries={new if key == old else key: entry for key, entry in self.entries.items()})

    def edited(self, key: str, edit: Callable[[MapNode], Node]) -> MapNode:
        """The same mapping with the mapping under one key edited; anything else there stays as it is."""
        entry = self.entries.get(key)
        if entry is None or not isinstance(entry.node, MapNode):
            return self
        return self.having(key, Entry(entry.where, edit(entry.node)))

    def edited_items(self, key: str, edit: Callable[[MapNode], Node]) -> MapNode:
        """The same mapping with every mapping in the list under one key edited."""
        entry = self.entries.get(key)
        if entry is None or not isinstance(entry.node, ListNode):
            return self
        edited = tuple(edit(item) if isinstance(item, MapNode) else item for item in entry.node.items)
        return self.having(key, Entry(entry.where, replace(entry.node, items=edited)))


@dataclass(frozen=True)
class ListNode:
    where: Position
    items: tuple[Node, ...] = ()


Node = ScalarNode | ListNode | MapNode


def plain(node: Node) -> Any:
    """The tree as plain dicts, lists and scalars."""
    if isinstance(node, ScalarNode):
        return node.value
    if isinstance(node, ListNode):
        return [plain(item) for item in node.items]
    return {key: plain(entry.node) for key, entry in node.entries.items()}


def items(node: Node | None) -> tuple[Node, ...]:
    """The items of a list; nothing for anything else."""
    return node.items if isinstance(node, ListNode) else ()


def maps(node: Node | None) -> Iterator[MapNode]:
    """The mappings among the items of a list."""
    return (item for item in items(node) if isinstance(item, MapNode))


def text(node: Node | None) -> str | None:
    """The text of a scalar; None for anything else and for an empty value."""
    return node.text if isinstance(node, ScalarNode) and node.value is not None else None


def child(node: Node, part: str | int) -> Node | None:
    """The value under a key, or the item at an index."""
    if isinstance(node, MapNode) and isinstance(part, str):
        return node.get(part)
    if isinstance(node, ListNode) and isinstance(part, int) and 0 <= part < len(node.items):
        return node.items[part]
    return None


@dataclass(frozen=True)
class Found:
    """How far a path could be followed: the last value reached, and the position of its key."""

    node: Node
    key_where: Position

    def follow(self, path: Iterable[str | int]) -> Found:
        """Follow a path as far as it exists in the tree; unknown parts are skipped."""
        found = self
        for part in path:
            below = child(found.node, part)
            if below is None:
                continue
            above = found.node
            key_where = above.key_where(part) if isinstance(above, MapNode) and isinstance(part, str) else below.where
            found = Found(below, key_where)
        return found


def follow(node: Node, path: Iterable[str | int]) -> Found:
    """Follow a path from a value as far as it exists in the tree."""
    return Found(node, node.where).follow(path)
