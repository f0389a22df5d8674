"""The operator's side of a server for a team: what must hold before it starts, and its start.

`plan` says what is to be served, `checks` finds everything that is wrong with its settings,
`parts` asks whether what a running server rests on can be used, `workers` keeps it running.
"""
