"""Security: who may do what (authorization), and what is never shown (masking)."""
