"""Inside an engine: inputs, steps, outputs."""
