"""Compaction over several rounds: which statements of users survive, and which outdated values stay."""
