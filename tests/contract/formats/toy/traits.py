from __future__ import annotations

from catchment.formats.traits import Traits

TRAITS = Traits(name="toy", formats=("toy",), is_table=True, by_path=True)
