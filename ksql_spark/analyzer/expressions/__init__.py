"""Binds expressions: types, coercion, aggregates and intervals."""
