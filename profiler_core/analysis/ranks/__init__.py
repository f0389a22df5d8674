"""Several ranks of one job: what each did by itself, and what only all together tell."""
