"""`catchment shell`: a prompt for SQL."""
