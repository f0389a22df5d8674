"""`make mutants`: break a rule of the analyses on purpose and see whether a test notices.

`table.py` lists the mutants, chosen by hand: each is one rule, a formula's sign or a border, that a
reader relies on. They run on a copy of the code; docs/mutants.md explains those that survive.
"""
