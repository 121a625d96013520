"""Maintenance of tables: the actions of a job."""
