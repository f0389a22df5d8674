"""Rank traces of one job: found in a folder, an archive or a store, each reduced by itself."""
