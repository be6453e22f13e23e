import ast
import time

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.literals import literal


@pytest.mark.parametrize(
    "text",
    [
        *("1", "-1e-6", "+3", "True", "None", "'a'", "[]", "()", "{}", " (0.9, 0.98) "),
        *("[1, [2, (3,)]]", "{'a': 1, 'b': [2]}", "{1, 2}"),
    ],
)
def test_a_plain_value_is_that_of_python(text):
    assert literal(text) == ast.literal_eval(text.strip())
    assert type(literal(text)) is type(ast.literal_eval(text.strip()))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[(512, 3)] * 3 + [(1024, 1)]", [(512, 3)] * 3 + [(1024, 1)]),
        ("2 * [1]", [1, 1]),
        ("3 - 1", 2),
        ("1024 * 0.5", 512.0),
    ],
)
def test_the_sums_and_multiples_that_architectures_are_written_in_are_computed(text, value):
    assert literal(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *("__import__('os')", "print(1)", "x", "(1).real", "[i for i in [1]]", "lambda: 1"),
        *("1 if 1 else 2", "f'{1}'", "[1][0]", "2 ** 9", "(x := 1)", "{**{}}['a']", "hello", ""),
        *("10**9 * [0]", "[0] * 10**9", "[0] * 1000000000", "'a' * 100000", "(" * 5000, "1" * 9999),
        *("1 +", "'a' + 1", "{[]: 1}", "a\nb"),
    ],
)
def test_anything_else_is_one_line_at_once(text):
    began = time.monotonic()
    with pytest.raises(UserError, match="must be a plain value") as error:
        literal(text)
    assert "\n" not in str(error.value) and len(str(error.value)) < 200
    assert time.monotonic() - began < 1


def test_what_is_no_text_is_a_type_error_as_in_python():
    with pytest.raises(TypeError):
        literal(3)
