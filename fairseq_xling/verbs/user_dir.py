"""Print the folder to pass to fairseq's --user-dir."""

import argparse

from fairseq_xling import USER_DIR

GROUP = "Start"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No arguments."""


def run(args: argparse.Namespace) -> None:
    print(USER_DIR)
