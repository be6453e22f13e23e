"""`fairseq-xling eval transfer` and `eval matrix`: fine-tune, choose on dev, test, one table."""
