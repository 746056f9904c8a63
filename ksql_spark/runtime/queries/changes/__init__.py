"""What changes or checks the results of a query that runs: FORGET, REPROCESS, a swap of versions."""
