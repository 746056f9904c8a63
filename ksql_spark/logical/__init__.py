"""Logical plans: what a query means."""
