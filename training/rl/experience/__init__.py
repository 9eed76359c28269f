"""The experience bank of a training run (Evolving Rollouts).

start.py       `python -m training.rl.experience.start`: the first bank, from recorded rollouts (equation 2)
editions.py    published editions of the bank, which rollouts read
evolution.py   one step: lessons from every group, consolidation, forgetting, and the figures of section 5.2
"""
