"""The fusion page: the ledger read, shown, and one group opened."""
