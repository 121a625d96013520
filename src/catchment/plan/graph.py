"""A directed graph based on graphlib: order, cycles and reachability."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Generic, TypeVar

Node = TypeVar("Node", bound=Hashable)


@dataclass(frozen=True)
class Graph(Generic[Node]):
    """Nodes and their dependencies; every dependency is a node."""

    dependencies: Mapping[Node, tuple[Node, ...]]

    @cached_property
    def order(self) -> tuple[Node, ...]:
        """Dependencies first, otherwise as given. Raises `graphlib.CycleError`."""
        return tuple(TopologicalSorter(self.dependencies).static_order())

    def cycles(self) -> Iterator[tuple[Node, ...]]:
        """Cycles without common nodes; in each, a node is followed by one that it depends on."""
        rest = self
        while True:
            try:
                TopologicalSorter(rest.dependencies).prepare()
                return
            except CycleError as error:
                # graphlib lists a node before those that depend on it, and repeats the first at the end.
                cycle = tuple(reversed(error.args[1][1:]))
            yield cycle
            rest = rest.without(cycle)

    def without(self, nodes: Iterable[Node]) -> Graph[Node]:
        """The graph without some of its nodes."""
        gone = set(nodes)
        kept = {
            node: tuple(needed for needed in needs if needed not in gone)
            for node, needs in self.dependencies.items()
            if node not in gone
        }
        return Graph(kept)

    def ordered(self, one: Node, other: Node) -> bool:
        """Whether dependencies decide which of the two comes first."""
        mine, theirs = self._bit[one], self._bit[other]
        return mine == theirs or bool(self._before[one] & theirs) or bool(self._before[other] & mine)

    def needs(self, one: Node, other: Node) -> bool:
        """Whether one node depends on the other, directly or indirectly."""
        return bool(self._before[one] & self._bit[other])

    @cached_property
    def _bit(self) -> Mapping[Node, int]:
        return {node: 1 << number for number, node in enumerate(self.order)}

    @cached_property
    def _before(self) -> Mapping[Node, int]:
        """All direct and indirect dependencies of each node as bit sets, computed in one pass."""
        before: dict[Node, int] = {}
        for node in self.order:
            before[node] = 0
            for needed in self.dependencies[node]:
                before[node] |= before[needed] | self._bit[needed]
        return before
