"""`fairseq-xling demo`: everything, small."""
