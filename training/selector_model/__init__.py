"""The selector's model: its settings, its groups and windows, the network, its weights and its scores."""
