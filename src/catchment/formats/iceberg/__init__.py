"""Iceberg tables, through Spark's own writer and Iceberg's own API."""

from catchment.formats.iceberg.format import Iceberg

__all__ = ["Iceberg"]
