"""How well the bundled sentence embeddings rank passages."""
