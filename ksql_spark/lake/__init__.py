"""Lakes: tables outside Kafka, which sinks write exactly once."""
