"""Language models trained with trajectories of exact tokens.

sft.py           the cold start: supervised training on the replies in good trajectories
trl_trainer.py   reinforcement learning on one node: TRL's GRPOTrainer with our rollouts and targets
updates.py       a run of it: rollouts, targets, evaluations, checkpoints, time limit
search_run.py    both, for an agent that searches: `python -m training.rl.engines --config FILE --out RUN`
report.py        results of several runs
"""
