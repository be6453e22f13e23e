"""The studies of TreLM: what its tables compare, and what its text leaves open.

A study is a class derived from `TrelmStudy`, in a file of this folder.
"""

import argparse

from fairseq_xling.papers.trelm.study import Study


class TrelmStudy(Study):
    """Base class of the studies."""

    def run(self, args: argparse.Namespace) -> None:
        from fairseq_xling.papers.trelm.run import run_study

        run_study(self, args)
