"""Whether a reader answers the same from a compressed context as from all documents."""
