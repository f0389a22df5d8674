"""What a step would take if something were different: changes, and what they are predicted to save.

docs/what_if.md: the model, and how near it comes.
"""
