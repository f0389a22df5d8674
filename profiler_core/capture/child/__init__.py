"""The code that runs in the user's interpreter: standard library, torch and the user's model only.

Started as a file path (`main.py`), so that nothing of Fusionscope need be installed there. Runs on
every Python that torch >= 2.1 runs on, from 3.8 on: no newer syntax in here.
"""
