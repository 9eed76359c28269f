"""Context compression for language models on a plain CPU."""
