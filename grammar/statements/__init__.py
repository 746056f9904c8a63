"""Statement families: node, parse rule, render rule."""
