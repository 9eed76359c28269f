"""How well tersely compresses, how fast, and compared with what; README.md lists the programs."""
