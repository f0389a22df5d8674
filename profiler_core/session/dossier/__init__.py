"""The dossier of one thing, gathered from the runs of a comparison and its pairs."""
