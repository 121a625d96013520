from __future__ import annotations

from graphlib import CycleError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.plan.graph import Graph

DIAMOND = Graph({"end": ("left", "right"), "left": ("start",), "right": ("start",), "start": (), "alone": ()})


def test_dependencies_come_first() -> None:
    order = DIAMOND.order
    assert sorted(order) == sorted(DIAMOND.dependencies)
    assert order.index("start") < order.index("left") < order.index("end")
    assert order.index("start") < order.index("right") < order.index("end")


def test_who_is_ordered() -> None:
    assert DIAMOND.ordered("start", "end")
    assert DIAMOND.ordered("end", "start")
    assert DIAMOND.ordered("left", "left")
    assert not DIAMOND.ordered("left", "right")
    assert not DIAMOND.ordered("alone", "end")


def test_cycles_follow_the_dependencies() -> None:
    graph = Graph({"a": ("c",), "b": ("a",), "c": ("b",), "x": ("y",), "y": ("x",), "free": ("a",)})
    with pytest.raises(CycleError):
        _ = graph.order
    cycles = list(graph.cycles())
    assert sorted(map(sorted, cycles)) == [["a", "b", "c"], ["x", "y"]]
    for cycle in cycles:
        for node, needed in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            assert needed in graph.dependencies[node]


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20))
def test_ordered_is_reachability(edges: list[tuple[int, int]]) -> None:
    downward = {(max(edge), min(edge)) for edge in edges if edge[0] != edge[1]}
    graph = Graph({node: tuple(low for high, low in downward if high == node) for node in range(8)})

    def reaches(start: int, goal: int) -> bool:
        return start == goal or any(reaches(below, goal) for below in graph.dependencies[start])

    for one in range(8):
        for other in range(8):
            assert graph.ordered(one, other) == (reaches(one, other) or reaches(other, one))
