"""The demonstration: taxi trips, three workflows with two writers each, and a reader who watches."""
