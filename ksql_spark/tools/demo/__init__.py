"""``ksql-spark demo``: the stories of the folder examples, live."""
