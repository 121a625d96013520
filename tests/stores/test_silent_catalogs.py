"""REST and Hive catalogs over a connection that says nothing more, and that nobody closes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.concurrency.invariants import check, ids
from tests.servers.s3 import S3Server
from tests.servers.wire import Wire
from tests.stores import lakes
from tests.stores.lakes import Lake, appending

pytestmark = pytest.mark.slow
SWAPS = {"rest": b"POST /iceberg/v1/", "hive": b"alter_table"}


@pytest.fixture(scope="module")
def silent(
    store: S3Server, on_s3: Lake, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Lake, dict[str, Wire]]]:
    with lakes.with_silent_catalogs(tmp_path_factory.mktemp("silent"), store, on_s3) as found:
        yield found


@pytest.mark.parametrize("depot", SWAPS)
def test_a_swap_that_is_never_answered_is_given_up_and_looked_for(
    silent: tuple[Lake, dict[str, Wire]], fresh: str, depot: str
) -> None:
    """Without a time-out, the holder of the table's lease would wait for ever, or for ten minutes."""
    lake, wires = silent
    lake.here.run(appending(fresh, 0, "before", depot))
    wires[depot].keep_answer_to(SWAPS[depot])
    [report] = lake.here.run(appending(fresh, 10, "during", depot))
    assert wires[depot].has_lost
    assert report.rows == 10
    assert ids(lake.there, fresh, depot) == list(range(20))
    check(lake.there, fresh, depot)
