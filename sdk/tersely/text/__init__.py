"""Text without a model: units with exact offsets, and token counts."""
