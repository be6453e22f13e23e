"""Skip-gram: a vector for each subword (Mikolov et al. 2013)."""

from fairseq_xling.papers.trelm.embedders import Embedder, embedders
from fairseq_xling.papers.trelm.skipgram import SkipGram, SkipGramOptions

embedders.register("skip-gram")(Embedder(SkipGramOptions, SkipGram))
