"""Zero-shot transfer: fine-tune an encoder on one language, test it on others.

A head is one file in `heads`: its input, encoding, network, loss, predictions and metric. A file
format is one file in `formats`.
"""
