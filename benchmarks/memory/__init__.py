"""Agent memories: what they cost, and which facts of the past they still hold when the agent needs them."""
