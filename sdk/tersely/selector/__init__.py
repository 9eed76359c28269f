"""The model's side: windows, encoder, features, fusion, calibration.

A `Compressor` takes any `Scorer`; `tersely.selector.selector.Selector` is the one that ships.
"""

from tersely.selector.protocol import DocumentScores, ScoredInput, Scorer

__all__ = ["DocumentScores", "ScoredInput", "Scorer"]
