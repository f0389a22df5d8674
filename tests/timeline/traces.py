"""Traces that several tests of the timeline look at."""

from pathlib import Path

CUSTOMCNN = Path(__file__).resolve().parents[1] / "fixtures" / "captures" / "customcnn_b1"
