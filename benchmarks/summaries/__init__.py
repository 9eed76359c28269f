"""Summaries: how grounded they are, and what a reader makes of them (`python -m benchmarks.summaries`)."""
