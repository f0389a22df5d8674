"""The page of sweeps: which one, what it says, its pictures and its points."""
