"""The demonstration: taxi trips, three workflows with two writers each, and a reader that watches the tables."""
