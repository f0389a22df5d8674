"""Where the memory went: peaks, curves, what was live, what compiling made vanish."""
