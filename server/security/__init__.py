"""What a request must pass before a route handles it: who sends it, what they may do, its form and size."""
