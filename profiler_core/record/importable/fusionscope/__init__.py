"""Stands in for the package where only this folder is on the path: its integrations, nothing else.

The rest of the package needs what a script's environment need not have.
"""

from pathlib import Path

__path__ = [str(Path(__file__).resolve().parents[4] / "fusionscope")]
