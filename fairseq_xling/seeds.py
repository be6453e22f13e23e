"""Valid seeds: the same for every command, accepted by numpy, torch and fairseq."""

from fairseq_xling.ranges import Number, Range

MOST = 2**32 - 1  # of numpy's older generator, which fairseq seeds, too
SEEDS = Range(0, MOST)
SEED = Number(int, SEEDS)  # the type of an argument
