"""How long compression takes and what it costs: time, start-up, memory, install size."""
