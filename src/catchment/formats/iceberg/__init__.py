"""Iceberg tables: writes are buffered in forks of the table, and one swap publishes all sealed writes."""
