"""Handlers of statements about requests and servers, and of commands that a server cannot execute."""
