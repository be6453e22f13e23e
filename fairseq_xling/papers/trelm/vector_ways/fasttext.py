"""fastText on the training text (TreLM, Appendix A.5), or given vectors."""

from fairseq_xling.papers.trelm.vector_ways import vector_ways
from fairseq_xling.papers.trelm.vector_ways.skip_gram import SkipGramWay


@vector_ways.register("fasttext")
class FastTextWay(SkipGramWay):
    """`fairseq-xling embed train --method fasttext`."""

    method = ("--method", "fasttext")
