"""Benchmarks of tersely: `python -m benchmarks.quality` and `python -m benchmarks.latency`."""
