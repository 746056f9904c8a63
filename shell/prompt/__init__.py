"""The interactive prompt: reading, completion, colors, and the greeting."""
