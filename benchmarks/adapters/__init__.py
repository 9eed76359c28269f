"""What the adapters cost beside the call that they translate."""
