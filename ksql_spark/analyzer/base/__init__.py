"""What all rooms of the analyzer use: errors with positions, scopes and names, settings, limits, formats."""
