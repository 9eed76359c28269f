"""Which sentences to keep: windows, scores, fusion, cutting and packing."""
