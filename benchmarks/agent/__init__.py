"""Does an agent that was trained here keep to ZipRL's turns, and what does it answer?"""
