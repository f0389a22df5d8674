"""The page of API tokens: made, shown once, listed and revoked."""
