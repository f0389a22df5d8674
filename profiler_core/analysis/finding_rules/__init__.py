"""The rules behind findings.py, one module for each kind of cause.

A new module with RULES is enough: every page, report, verb and agent has its findings then. PLACE
says where these stand among findings of equal weight and stake, the lowest first; those of a module
without one come last.
"""
