"""Topics of Kafka, which can be read and not written."""
