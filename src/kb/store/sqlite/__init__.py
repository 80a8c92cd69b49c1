"""The store of one machine: a folder with one SQLite database in it, the only truth there is."""
