"""Schedulers of clusters: runs whose steps are jobs on other machines."""
