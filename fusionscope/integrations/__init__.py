"""Trainers that record themselves: what each calls is passed on to a `Recorder`.

Everything here runs in the script's process and environment, on Python 3.8 and torch 2.1 as the
Recorder does, and imports a trainer's package only where that trainer is used (docs/trainers.md).
"""
