"""The door of a dashboard on one's own machine, where nobody signs in.

Every user of the machine reaches its port, so a browser is let in by a link that only the owner
gets (`store/browser_links.py`), and is known by a signed cookie from then on.
"""
