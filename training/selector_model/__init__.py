"""Model of the selector: settings, groups, windows, network, weights and scores."""
