"""From a data folder to batches."""
