"""A hadoop catalog loses commits when two processes write: it bears readers, and one writer at a time."""

from __future__ import annotations

import pytest

from tests.concurrency.invariants import check, ids
from tests.spark.lake import job, output, step, table
from tests.spark.overtaking import at_gate, gate
from tests.stores.lakes import Lake, appending


@pytest.mark.slow
def test_a_second_writer_is_refused_while_the_first_one_writes(on_s3: Lake, fresh: str) -> None:
    here, there = on_s3.here, on_s3.there
    here.run(appending(fresh, 0, "first", "alone"))
    there.run(appending(fresh, 10, "after-it", "alone"))

    target = table(fresh, "alone")
    slow = [gate(target), step("rows", "SELECT id FROM gate, range(20, 30, 1, 2) WHERE seen > 0")]
    writing_now = here.start_job(job(output("rows", target, mode="append"), steps=slow, name="slow"), run=f"r-{fresh}")
    with at_gate(here, target):
        for engine in (here, there):
            refused = engine.fail(appending(fresh, 90, "second", "alone"))
            assert (refused.code, refused.retryable) == ("second-writer", True)
            assert f"r-{fresh}/slow/out on engine/" in refused.message
            assert "use a jdbc or rest catalog" in (refused.hint or "")
        [recovered] = there.recover(target)
        assert recovered["error"]["code"] == "second-writer"
        assert ids(there, fresh, "alone") == list(range(20))

    assert writing_now.done()[0].rows == 10
    there.run(appending(fresh, 30, "afterwards", "alone"))
    assert ids(here, fresh, "alone") == list(range(40))
    check(here, fresh, "alone")
