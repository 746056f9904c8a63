"""Everything that runs: queries of all kinds, the command log, checkpoints, views, PRINT."""
