"""What compression costs: time, start-up, RAM, install size."""
