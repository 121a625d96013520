"""Runs jobs inside an engine: inputs, steps, outputs."""
