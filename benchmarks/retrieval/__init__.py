"""Rankings by the bundled sentence embeddings, and the experience bank that uses them."""
