"""The time that adapters add to the call which they translate."""
