"""Training objectives, one file each.

Every language-modelling objective is a choice of (S, A, W, C):

    L = - sum over u in C of log p(w_u | S, A)

S are the tokens that the model reads, A is for each output position the source position whose
state it gets (or none), W are the output tokens and C the positions that are predicted.
An objective turns one `Row` of text into an `Example`; nothing else in the project refers to it by
name. To add one, put a file here (or in your own --user-dir of fairseq) with a class registered
under ``@objectives.register("name")``.
"""

from fairseq_xling.core.registry import Registry

objectives: Registry = Registry("objective", __name__, needs=("name", "reads"))
