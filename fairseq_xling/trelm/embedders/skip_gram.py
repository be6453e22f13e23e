"""Skip-gram: a vector for each subword (Mikolov et al. 2013)."""

from fairseq_xling.trelm.embedders import Embedder, embedders
from fairseq_xling.trelm.skipgram import SkipGram, SkipGramOptions

embedders.register("skip-gram")(Embedder(SkipGramOptions, SkipGram))
