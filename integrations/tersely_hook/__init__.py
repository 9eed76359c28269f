"""Shorter tool results inside of coding agents: a hook for Claude Code, Copilot and the MCP tools of Cursor.

client      runs after every tool call and asks the daemon; it imports almost nothing, so that it starts fast
daemon      a small process that is started on demand and ends when it is idle
answers     from a hook's input to its answer: the shape of each tool's output
copilot     the input and the answer of Copilot, in its own names
protected   outputs that are never shortened, such as files that may be edited
request     the user's last message in a transcript
shortening  a shorter text with marks and an id, chosen by words
store       the originals on disk, and the command `tersely_original`
records     calls and the tokens of the session, for the ledger
settings    adds the hook to an agent's settings, and removes it
doctor      checks all of it
"""
