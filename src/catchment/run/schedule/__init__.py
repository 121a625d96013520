"""Follows the schedules of workflows: one process for all of them, a process of its own for each run."""
