"""Zero-shot transfer: fine-tune an encoder on one language, test it on others.

A head is one file in `heads`: what it reads, how it is encoded, its network, its loss, how its
output becomes predictions, and its metric. A file format is one file in `formats`.
"""
