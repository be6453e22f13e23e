"""What every package builds on: errors, files, options, registries; without fairseq and torch."""
