"""Iceberg tables: buffers through forks, one swap for all sealed writes."""
