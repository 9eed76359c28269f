"""Does a shortened tool result hold the answer, say nothing false, and still parse?"""
