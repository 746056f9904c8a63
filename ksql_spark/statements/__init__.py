"""One handler per statement class."""
