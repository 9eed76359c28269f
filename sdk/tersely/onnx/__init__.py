"""Artifacts on disk and the ONNX session that runs them."""
