"""Is the candidate still good enough: limits on numbers, judged with the noise in mind."""
