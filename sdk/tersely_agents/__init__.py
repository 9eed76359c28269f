"""Agents on top of tersely: chat models, memory, summaries, experience."""
