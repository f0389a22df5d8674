"""The only package that starts processes on a person's request.

`asker` says who asks, from where, and whether that person may capture; `interpreters` which
interpreter may be started for that person; `deeds` starts the process, after the audit has an
entry about it. Where the audit cannot be written, nothing is started.
"""
