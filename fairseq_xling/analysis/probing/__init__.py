"""Edge probing: what can be read off frozen vectors of one or two spans of a text (SPEC E8).

Tenney et al. 2019, "What do you learn from context? Probing for sentence structure in
contextualized word representations", section 3. The parts know nothing of each other's origin:

    examples   rows of JSON lines: a text, spans, labels
    states     vectors of their tokens from an encoder, on disk
    spans      vectors and spans, wherever they come from: arrays are enough
    network    span attention pooling and a classifier
    fit        its training on spans, and prediction
    scores     micro precision, recall and F1
    tasks      rows made from treebanks and tagged files
"""
