"""Scalar functions, called row by row."""

from ksql_spark.udf import Integer, scalar_function


@scalar_function
def initials(name: str) -> str:
    """The first letters of the words of a name.

    Args:
        name: words with blanks between them
    """
    return "".join(word[0].upper() for word in name.split())


@scalar_function
def word_at(text: str, number: Integer, otherwise: str = "") -> str | None:
    """A word of a text, counted from 1; NULL, or another text, where there are not so many.

    Args:
        text: words with blanks between them
        number: 1 for the first word
        otherwise: given instead of a word that is not there
    """
    words = text.split()
    return words[number - 1] if 0 < number <= len(words) else otherwise or None
