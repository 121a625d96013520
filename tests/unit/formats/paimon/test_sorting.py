from __future__ import annotations

import pytest

from catchment.errors import JobError
from catchment.formats.paimon.sorting import sorting_of
from catchment.plan.model import Dataset, Rewrite

TABLE = Dataset("dataos://pond:raw/t", "pond", "paimon", "raw", "t")


@pytest.mark.parametrize(
    ("order", "strategy", "columns"),
    [
        ("a", "order", "a"),
        ("a ASC, `b c`  asc nulls first", "order", "a,b c"),
        ("zorder(a, b)", "zorder", "a,b"),
        (" ZORDER ( `a`,b ) ", "zorder", "a,b"),
    ],
)
def test_names_go_to_paimon_without_blanks(order: str, strategy: str, columns: str) -> None:
    assert sorting_of(TABLE, Rewrite("sort", order)) == {"order_strategy": strategy, "order_by": columns}


def test_what_is_only_merged_has_no_order() -> None:
    assert sorting_of(TABLE, Rewrite()) == {}


@pytest.mark.parametrize("order", ["a DESC", "a NULLS LAST", "a,,b", "hilbert(a, b)", "zorder(a + b)", None])
def test_orders_that_paimon_does_not_have(order: str | None) -> None:
    with pytest.raises(JobError) as refused:
        sorting_of(TABLE, Rewrite("sort", order))
    assert refused.value.code == "unsupported-option"
