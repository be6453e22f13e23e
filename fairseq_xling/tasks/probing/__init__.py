"""Edge probing: what can be predicted from frozen vectors of one or two spans of a text.

Tenney et al. 2019, "What do you learn from context? Probing for sentence structure in
contextualized word representations", section 3. The parts are independent of each other:

    examples   rows of JSON lines: a text, spans, labels
    converters rows made from treebanks and tagged files
    states     vectors of their tokens from an encoder, on disk; spans over vectors from any source
    fit        span attention pooling and a classifier: training, prediction and scores

For your own vectors, an array (vectors, width) and the positions of spans in it are enough:

>>> import numpy as np
>>> from fairseq_xling.tasks.probing.fit import ProbeOptions, fit_probe
>>> from fairseq_xling.tasks.probing.states import Spans
>>> vectors = np.eye(4, dtype=np.float32)
>>> places = np.array([[[0, 2]], [[2, 4]], [[2, 3]]])  # three examples of one span
>>> spans = Spans([vectors], places, [["a"], ["b", "c"], ["b", "c"]])
>>> options = ProbeOptions("linear", projection=8, dropout=0.0, lr=0.05)
>>> fit_probe(spans, spans, options).predict(spans)
[['a'], ['b', 'c'], ['b', 'c']]
"""
