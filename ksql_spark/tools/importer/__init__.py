"""``ksql-spark import``: what a ksqlDB server has is created here, compared, and takes its place."""
