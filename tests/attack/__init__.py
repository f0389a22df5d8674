"""Attacks on the product, each by the way in that it used."""
