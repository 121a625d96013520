"""Plain files: a journal in place of the commit that a directory does not have."""
