"""Runs workflows by their schedules: one scheduler process, and one process for each run."""
