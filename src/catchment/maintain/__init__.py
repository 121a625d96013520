"""Maintenance and metadata changes of tables."""
