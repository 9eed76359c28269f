"""Reinforcement learning for agents that search, compress and learn (RECON, ZipRL, SUPO, Evolving Rollouts).

trajectory.py    the record of a rollout: token ids, log-probabilities, masks, rewards
episode.py       the protocol of a rollout: a context to continue, a step with the policy's reply
rollout.py       runs many episodes at once with one policy, and records their trajectories
environments/    tasks, from synthetic ones to searches in any documents
algorithms/      trajectories to advantages
language/        language models as policies
engines/         language models trained through TRL
verl/            runs on many nodes with verl
agent.py         an agent that writes ZipRL's turns, after its cold start: `python -m training.rl.agent`
"""
