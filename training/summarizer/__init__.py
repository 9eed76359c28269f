"""Train a summarizer (RECON, section 3.2) and export it as an artifact: `python -m training.summarizer`.

standalone.py   sentences that make sense alone
examples.py     examples without a teacher, from sets with gold sentences or human summaries
teacher.py      examples with a teacher: any chat model
relevance.py    stage 1: which of ten passages is relevant
train.py        stage 2: teacher forcing of a causal language model
"""
