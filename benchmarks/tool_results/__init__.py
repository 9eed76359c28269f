"""Does what is kept of a tool result hold the answer, say nothing false, and still parse?"""
