"""Words for what the analyses decided: pages, command line, reports, gate and agents print these.

Analyses answer with records: a claim (an enum), the numbers with their units, what to do. Here they
become sentences, at the end; nothing reads a sentence again.
"""
