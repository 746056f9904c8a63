"""The format of results on the screen and in pipes (reference §8.3)."""
