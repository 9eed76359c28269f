"""Measurements of quality, speed and size; README.md lists the programs."""
