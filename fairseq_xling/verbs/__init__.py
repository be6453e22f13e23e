"""`fairseq-xling <verb>`: one thin file per verb, no logic."""
