"""The one door through which a person's request starts a process.

`asker` says who asks, from where, and whether that person may capture; `interpreters` which
interpreter may be started for that person; `deeds` starts the process, after the audit has an
entry about it. A deed that cannot be written down is not done.
"""
