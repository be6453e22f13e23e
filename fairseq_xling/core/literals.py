"""Python's plain values from text: what fairseq means where it evaluates an option."""

import ast
import operator
from typing import Any

from fairseq_xling.core.errors import UserError

_LONGEST = 10_000  # characters of the text, and items of a list
_JOINED = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def literal(text: Any, *_: Any) -> Any:
    """The value of ``text``: numbers, texts, lists, tuples, dicts; sums and multiples of them.

    Nothing is called and no name is looked up. Further arguments are those of Python's ``eval``,
    for which this stands; they are ignored.

    >>> literal("(0.9, 0.98)"), literal("[(512, 3)] * 2 + [(9, 1)]"), literal("-1e-6")
    ((0.9, 0.98), [(512, 3), (512, 3), (9, 1)], -1e-06)
    """
    if not isinstance(text, str):
        raise TypeError(f"must be text, got {type(text).__name__}")
    shown = repr(text if len(text) <= 80 else f"{text[:60]}...")
    try:
        if len(text) > _LONGEST:
            raise ValueError
        return _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, TypeError, ArithmeticError, RecursionError, MemoryError):
        raise UserError(
            f"an option must be a plain value such as 0.1, (0.9, 0.98) or [1, 2], got {shown}"
        ) from None


def _value(node: ast.AST) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        kind = {ast.Tuple: tuple, ast.List: list, ast.Set: set}[type(node)]
        return kind(_value(item) for item in node.elts)
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {_value(key): _value(value) for key, value in pairs if key is not None}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _value(node.operand)
        return -value if isinstance(node.op, ast.USub) else +value
    if isinstance(node, ast.BinOp) and type(node.op) in _JOINED:
        left, right = _value(node.left), _value(node.right)
        if _size(left) * _size(right) > _LONGEST:
            raise ValueError
        return _JOINED[type(node.op)](left, right)
    raise ValueError(type(node).__name__)


def _size(value: Any) -> int:
    """What a product with it may be a multiple of."""
    if isinstance(value, int):
        return max(1, abs(value))
    return max(1, len(value)) if hasattr(value, "__len__") else 1
