"""The folder that `fusionscope run` puts on PYTHONPATH: its two names are ours.

The folder around the real package would do too, but it is a site-packages or a checkout, whose
other packages would stand before those of the user's environment.
"""
