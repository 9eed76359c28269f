"""What benchmarks and training both need: tasks, readers, model export.

Training imports nothing else of benchmarks.
"""
