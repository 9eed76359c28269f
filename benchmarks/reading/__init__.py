"""Measure whether a reader gives the same answers from compressed contexts as from all documents."""
