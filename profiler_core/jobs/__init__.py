"""Work that goes on without the page that asked for it, in a queue that all processes share.

A job is a folder (`directory`) with a supervisor process of its own (`supervisor`), which waits for
its turn (`queue`), runs a command, and writes how it ended. `service` submits, lists, follows and
cancels; `resuming` takes care of those whose supervisor was killed.
"""
