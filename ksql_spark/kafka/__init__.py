"""The only place for confluent-kafka."""
