"""Both kinds of logs of one run as one list of what the compiler said."""
