"""One file for each algorithm: trajectories in, targets out.

evolving.py   Evolving Rollouts: GRPO on groups whose rewards differ, lessons from every group
grpo.py       the group-relative advantage, one for the whole rollout
hrr.py        ZipRL: the advantage of each turn, reshaped by the quality of its summary
ppo.py        RECON: an advantage for each token, from a critic
supo.py       SUPO: one advantage for all sub-trajectories, and the overlong mask
"""
