"""The dossier: all that is known about one thing, docked beside every page that shows runs."""
