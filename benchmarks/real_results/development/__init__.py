"""The set that splitting was designed with."""
