"""A table function: any number of rows for each row."""

from collections.abc import Iterator

from ksql_spark.udf import table_function


@table_function
def words(text: str) -> Iterator[str]:
    """One row for each word of a text, without punctuation."""
    for word in text.split():
        if bare := word.strip(".,;:!?"):
            yield bare
