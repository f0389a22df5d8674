"""A live model, handed to the child processes that measure it: source that is written, and state.

Code is written as source, so that a class or function of a notebook's cell is found where another
process can import it; weights, inputs and other values are saved by torch, into a folder of this
process, and read back only by the processes that it starts.
"""
