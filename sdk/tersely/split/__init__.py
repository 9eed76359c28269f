"""Split documents into units: sentences, and blocks that stay whole."""
