"""The formats of the tests, beside those of Catchment: imported by the tests and by the engines that they start."""

from __future__ import annotations

from catchment.formats.registry import register

register("tests.contract.formats.toy")
