"""`fairseq-xling eval transfer` and `eval matrix`: fine-tune, select on dev, test, one table."""
