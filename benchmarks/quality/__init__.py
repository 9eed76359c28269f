"""Answers and supporting sentences that compression keeps, compared with controls at equal budgets."""
