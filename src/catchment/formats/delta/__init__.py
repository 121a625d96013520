"""Delta tables, through Spark's own writer and Delta's own commit."""

from catchment.formats.delta.format import Delta

__all__ = ["Delta"]
