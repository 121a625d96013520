"""The dedicated compaction job: once or continuously, for one table or for the whole lake."""
