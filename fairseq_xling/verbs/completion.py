"""Print a script with which a shell completes verbs, options and file names.

  mkdir -p ~/.local/share/bash-completion/completions
  fairseq-xling completion bash > ~/.local/share/bash-completion/completions/fairseq-xling

A new shell then completes; for zsh, put the script as `_fairseq-xling` into a folder of `$fpath`.
The script is fixed: print it again after an upgrade. Verbs are completed as one word
(`eval-transfer`). Needs the extra `completion`.
"""

import argparse

GROUP = "Start"
SHELLS = ("bash", "zsh", "tcsh")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.completion import script

    print(script(args.shell))
