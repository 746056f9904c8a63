"""Handlers of statements that only answer: SHOW, EXPLAIN and ASSERT."""
