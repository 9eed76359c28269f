"""The costs of compression: time, start-up, RAM, install size."""
