"""What is done to a table beside writing rows into it."""
