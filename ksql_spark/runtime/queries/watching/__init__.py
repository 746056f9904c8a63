"""What looks after running queries: their failures, their state, the end of Spark."""
