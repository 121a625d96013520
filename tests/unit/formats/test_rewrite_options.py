from __future__ import annotations

import pytest

from catchment.errors import JobError, Position
from catchment.formats.rewrite_options import check_rewrite
from catchment.plan.model import Clause, Dataset, Rewrite

FILES = Dataset("dataos://drop:none/t", "drop", "parquet", path="/t")


@pytest.mark.parametrize(
    ("rewrite", "code"),
    [
        (Rewrite(properties={"partial-progress.enabled": "true"}), "unsupported-option"),
        (Rewrite(properties={"rewrite-all": "yes"}), "unsupported-option"),
        (Rewrite(properties={"min-input-files": "few"}), "unsupported-option"),
        (Rewrite(properties={"min-file-size-bytes": "0"}), "threshold-never-met"),
        (Rewrite("sort", "id"), "unsupported-option"),
        (Rewrite(condition=Clause("id = 1", Position("--where", 1, 1))), "unsupported-option"),
    ],
)
def test_what_has_no_effect_is_refused(rewrite: Rewrite, code: str) -> None:
    with pytest.raises(JobError) as refused:
        check_rewrite(FILES, rewrite)
    assert refused.value.code == code


def test_what_a_format_can_do_passes() -> None:
    check_rewrite(FILES, Rewrite(properties={"rewrite-all": "TRUE", "min-input-files": "2"}))
    check_rewrite(FILES, Rewrite("sort", "id", Clause("id = 1", Position("--where", 1, 1))), sorts=True, filters=True)
