"""The parts that benchmarks and training share: tasks, readers, model export.

Training imports no other part of benchmarks.
"""
