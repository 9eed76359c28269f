"""Tasks, each with an exact reward; all but `turns` with a scripted expert and an adjustable difficulty.

search.py       questions to answer by searching documents, for language models
archive.py      made-up records for it
turns.py        questions with their own documents, for the agent that ships
words.py        words to token ids and back
families.py     Evolving Rollouts: hidden rules, and a real experience bank that learns them
registers.py    SUPO: read cells one by one, keep a running total, summarise when the context is full
facts.py        RECON: search a base of facts hop by hop, and read passages or summaries of them
gather.py       ZipRL: read pages of facts, keep the requested ones in a summary
"""
