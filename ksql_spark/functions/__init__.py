"""Functions and operators, one spec each."""
