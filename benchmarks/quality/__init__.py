"""What compression keeps: answers and supporting sentences, compared with controls at equal token budgets."""
