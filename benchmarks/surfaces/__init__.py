"""What the server and the proxy cost, and what they save."""
