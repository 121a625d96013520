"""Kafka topics, which can be read but not written."""
