"""Scalar functions that are called for each row."""

from ksql_spark.udf import Integer, scalar_function


@scalar_function
def initials(name: str) -> str:
    """The first letters of the words of a name.

    Args:
        name: words separated by spaces
    """
    return "".join(word[0].upper() for word in name.split())


@scalar_function
def word_at(text: str, number: Integer, otherwise: str = "") -> str | None:
    """A word of a text by its number; a default or NULL if there are fewer words.

    Args:
        text: words separated by spaces
        number: 1 for the first word
        otherwise: the result if there are fewer words
    """
    words = text.split()
    return words[number - 1] if 0 < number <= len(words) else otherwise or None
