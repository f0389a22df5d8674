"""Kineto traces: cut into pieces, decoded on all cores, mended where writers got it wrong."""
