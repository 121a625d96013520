"""Maintenance of tables, changes of their metadata, and drops."""
