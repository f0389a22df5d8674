"""The page ranks: who waits for whom, and what compiling changed for all ranks together."""
