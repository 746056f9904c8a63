"""Physical plans: versioned steps."""
