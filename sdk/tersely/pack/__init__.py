"""The budget: units and their costs, the choice, the receipt, the text."""
