"""Write the pairs of the embedded corpus whose label hangs on the order of words.

    python examples/clcr/write_roles.py FOLDER --languages en,de,zh --train 6000 --held-out 500
    python examples/clcr/write_roles.py FOLDER ... --corpus CORPUS --mixed OUT --sentences 5000

The second also writes the corpus OUT, which is CORPUS with sentences of that form in its training
text. See `fairseq_xling.corpus.roles`.
"""

import argparse

from fairseq_xling.core.errors import exits_on_user_error
from fairseq_xling.core.languages import parse_languages
from fairseq_xling.corpus.roles import mix_text, write_roles


@exits_on_user_error
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="roles.SPLIT.LANG.tsv are written here")
    parser.add_argument("--languages", default="en,de,zh")
    parser.add_argument("--train", type=int, default=6000, help="pairs to train on")
    parser.add_argument("--held-out", type=int, default=500, help="pairs of valid and of test")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", help="folder of `fairseq-xling synthesize`")
    parser.add_argument("--mixed", help="corpus to write")
    parser.add_argument("--sentences", type=int, default=5000, help="to mix into it")
    args = parser.parse_args()
    languages = parse_languages(args.languages)
    write_roles(args.folder, languages, args.train, args.held_out, args.seed)
    if args.corpus and args.mixed:
        mix_text(args.corpus, languages, args.sentences, args.mixed)


if __name__ == "__main__":
    main()
