"""A series of comparisons over one option: from which value on does compiling pay?"""
