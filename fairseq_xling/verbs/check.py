"""Check that a data folder is still as it was prepared.

  fairseq-xling check data

Reads every file in full: each must have the digest that `meta.json` records, sentences must end in
</s> and have ids of their dictionary, word alignments must lie in their sentences, and the models
that cut text must fit the dictionaries. Prints a line for each file that does not, and exits with
status 1 if there is one. A training checks the same of what it reads, but digests only by a sample.
Folders of earlier versions have digests of their dictionaries alone.
"""

import dataclasses

from fairseq_xling.named_files import Input
from fairseq_xling.options import argument

GROUP = "Data"


@dataclasses.dataclass(frozen=True)
class Options:
    folder: str = argument("data folder, written by `prepare`", Input("FOLDER"))


def run(options: Options) -> None:
    from fairseq_xling.errors import UserError
    from fairseq_xling.text.check import check_folder

    count, digests, damaged = check_folder(options.folder)
    for line in damaged:
        print(line)
    if damaged:
        many = "is 1 problem" if len(damaged) == 1 else f"are {len(damaged)} problems"
        raise UserError(f"{options.folder}: there {many}; prepare the folder again")
    print(f"{options.folder}: {count} checks, all passed")
    if not digests:
        print("no digests of its text, as of earlier versions; `prepare --overwrite` adds them")
