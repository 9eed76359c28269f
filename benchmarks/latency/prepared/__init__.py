"""Prepared documents: what they save, and what the sieve loses."""
