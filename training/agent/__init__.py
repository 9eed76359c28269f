"""Train an agent that writes ZipRL's turns (its appendix A, the cold start): `python -m training.agent`.

trajectories.py   correct runs of a ReAct agent
teacher.py        levels and summaries by the compressor
examples.py       the same runs, rewritten as turns of the SDK's agent
"""
