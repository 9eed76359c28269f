"""How good the bundled sentence embeddings are at finding passages."""
