"""Choose the units that fit a limit, render them, and write the receipt."""
