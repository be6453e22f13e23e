"""The fairseq tasks and criterions."""
