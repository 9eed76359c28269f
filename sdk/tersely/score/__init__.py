"""The model's side: windows, encoder, features, fusion, calibration.

A `Compressor` takes any `Scorer`; `tersely.score.selector.Selector` is the one that ships.
"""

from tersely.score.protocol import DocumentScores, Preparer, ScoredInput, Scorer

__all__ = ["DocumentScores", "Preparer", "ScoredInput", "Scorer"]
