"""Delta tables, with Delta's own writer and commit."""
