"""Shorter tool results inside of coding agents: a hook for Claude Code, Copilot and the MCP tools of Cursor.

client      runs after every tool call and asks the daemon; it imports almost nothing, so that it starts fast
daemon      a small process that is started on demand and ends when it is idle
answers     the answer to a hook's input, in the shape of each tool's output
copilot     the same for Copilot, which has other names for tools and results
protected   outputs that are never shortened, such as files that may be edited
request     the user's last message in a transcript
shortening  shortens a text to the parts whose words match the question, with marks and an id
store       the originals on disk, and the command `tersely_original`
records     calls and the tokens of the session, for the ledger
settings    adds the hook to an agent's settings, and removes it
doctor      checks all of it
"""
