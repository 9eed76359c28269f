"""Train an agent that writes ZipRL's turns (its appendix A, the cold start): `python -m training.agent`.

trajectories.py   runs of a ReAct agent that came to a right answer
teacher.py        levels and summaries by the compressor
examples.py       the same runs again, in turns of the SDK's agent
"""
