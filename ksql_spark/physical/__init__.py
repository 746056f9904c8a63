"""Physical plans: their steps, how they are chosen, EXPLAIN, and their JSON for the command log."""
