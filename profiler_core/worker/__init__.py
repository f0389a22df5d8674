"""Processes of our own: how they are started, what they inherit, and how they answer.

`process` is the only module that starts one on behalf of a page, a route or an agent
(tests/attack/test_call_sites.py); `environment` says which variables it gets.
"""
