"""The heart: buffer, seal, consolidate, publish, recover. Many writers, one table, nothing lost, nothing twice."""
