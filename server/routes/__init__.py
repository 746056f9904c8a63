"""The endpoints of reference §7.1, one module per resource."""
