"""`trelm run` and the studies of its parts."""
