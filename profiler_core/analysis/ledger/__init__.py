"""The fusion ledger: what each part of the baseline became in the candidate; see docs/ledger.md."""
