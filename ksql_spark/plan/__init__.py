"""Plans: what a query means, where it is cut into stages, EXPLAIN, and their JSON for the command log."""
