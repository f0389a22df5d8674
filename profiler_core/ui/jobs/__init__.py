"""Page *Jobs*: what is read, measured and written on its own."""
