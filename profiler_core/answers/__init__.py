"""The answers that machines get, of the command line, the gate and agents: one record for each.

A record names the keys, their types and units and what they mean; docs/json.md is written from it.
"""
