"""CoNLL-U by its own rules, read back with a parser written here."""

from fairseq_xling.corpus import generate
from fairseq_xling.corpus.annotate import character_places, conllu, tagged


def read(block):
    comments = [line for line in block.splitlines() if line.startswith("#")]
    rows = [line.split("\t") for line in block.splitlines() if line and line[0] != "#"]
    return comments, rows


def test_blocks_follow_the_rules_and_give_everything_back():
    for parallel in generate(["en", "de", "zh", "id", "xm"], 200, seed=1):
        for code, sentence in parallel.sentences.items():
            block = conllu(sentence, "s1")
            comments, rows = read(block)
            assert block.endswith("\n\n")
            assert not block.endswith("\n\n\n")
            assert comments == ["# sent_id = s1", f"# text = {sentence.text}"]
            assert all(len(row) == 10 and all(row) for row in rows)
            assert [int(row[0]) for row in rows] == list(range(1, len(rows) + 1))
            for row, token in zip(rows, sentence.tokens, strict=True):
                misc = dict(part.split("=", 1) for part in row[9].split("|"))
                assert (row[1], row[3], int(row[6]), row[7]) == (
                    token.form,
                    token.upos,
                    token.head,
                    token.deprel,
                )
                assert misc.get("Entity", "O") == token.entity
                assert (row[6] == "0") == (row[7] == "root")
            columns = [
                line.split("\t") for line in tagged(sentence).removesuffix("\n\n").split("\n")
            ]
            assert columns == [[t.form, t.upos, t.entity] for t in sentence.tokens]
            text = "".join(
                row[1] + ("" if "SpaceAfter=No" in row[9] or row is rows[-1] else " ")
                for row in rows
            )
            assert text == sentence.text, code


def test_character_places_cover_the_text_once():
    for parallel in generate(["zh", "en"], 300, seed=1):
        places = character_places(parallel.sentences["zh"])
        flat = [at for place in places for at in place]
        assert flat == list(range(len(flat)))
        english = character_places(parallel.sentences["en"])
        assert [list(place) for place in english] == [[i] for i in range(len(english))]
