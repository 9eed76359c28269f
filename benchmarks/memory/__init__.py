"""Agent memories side by side: what they cost, and what of the past they still hold when it is needed."""
