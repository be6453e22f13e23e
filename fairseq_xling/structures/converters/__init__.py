"""Probing rows from files of structures: see `fairseq_xling.tasks.probing.converters`."""
