"""The commit path: buffer, seal, consolidate, publish, recover. Many writers, one table, no write lost or doubled."""
