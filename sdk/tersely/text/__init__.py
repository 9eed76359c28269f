"""Text without a model: units with exact offsets, BM25 and token counts."""
