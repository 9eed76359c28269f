"""The time that the server, the proxy and the playground take."""
