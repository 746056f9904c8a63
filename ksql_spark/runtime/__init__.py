"""Everything that runs: queries, reads, inserts, the command log, and the JVM that they run in."""
