"""How results look on the screen and in a pipe (reference §8.3)."""
