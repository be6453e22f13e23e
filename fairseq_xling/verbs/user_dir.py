"""Print the folder to pass to fairseq's --user-dir."""

from fairseq_xling import USER_DIR
from fairseq_xling.core.options import NoOptions as Options

GROUP = "Start"


def run(options: Options) -> None:
    print(USER_DIR)
