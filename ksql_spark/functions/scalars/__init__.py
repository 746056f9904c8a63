"""Functions of one row, by what they take."""
