"""Page *Experiments*: which setting is the fastest, tried and measured."""
