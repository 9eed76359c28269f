"""The set for evaluation only. None of its results is in the other set."""
