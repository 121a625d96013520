"""Plain files: a journal replaces the commit that a directory does not have."""
