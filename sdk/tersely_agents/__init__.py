"""Agents on top of tersely. Import each name from the package that describes it:

    tersely_agents.chat        OpenAIChat, LocalChat: chat models on a server and in this process
    tersely_agents.summaries   Summarizer, summarize: summaries with a source for every sentence
    tersely_agents.memory      AgentMemory, MemoryStore: a transcript under a limit, kept on disk
    tersely_agents.experience  ExperienceBank, extract: lessons that outlive a run
    tersely_agents.agent       Agent, search_tools, FolderIndex, load_agent: answers found with tools

This package itself exports nothing, so that each of them loads only what it needs.
"""
