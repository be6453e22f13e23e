import fairseq_xling.plugin  # noqa: F401  registers every task, model and criterion with fairseq
