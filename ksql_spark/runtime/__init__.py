"""Running queries and what they leave behind."""
