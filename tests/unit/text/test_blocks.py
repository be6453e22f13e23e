from fairseq_xling.text.blocks import lines_of


def test_byte_order_marks_are_not_part_of_words():
    assert lines_of("\ufeffa b\n\n\ufeffc\n".encode()) == ["a b", "", "c"]
