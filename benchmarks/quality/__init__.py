"""What compression keeps: answers and supporting sentences, against controls, at equal token budgets."""
