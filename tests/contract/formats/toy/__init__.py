"""A format that lives in the tests alone: a dataset is one JSON file. It shows what a format needs."""
