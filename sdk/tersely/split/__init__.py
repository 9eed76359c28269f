"""Documents become units: sentences, and structure that stays whole."""
