"""fairseq and torch as they are here: their installation, versions' quirks, precision, plug-ins."""
