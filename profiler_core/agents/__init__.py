"""The analyses for coding agents, over the Model Context Protocol; words no number anew."""
