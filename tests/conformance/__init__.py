"""The engine against conformance cases that are not part of this project."""
