"""Delta tables, through Spark's own writer and Delta's own commit."""
