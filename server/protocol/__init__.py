"""HTTP/1.1, HTTP/2 and TLS on one port, and the limits of connections."""
