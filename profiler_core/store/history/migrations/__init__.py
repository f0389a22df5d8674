"""Alembic's folder: `env.py` runs the files of `versions` on the connection it is handed."""
