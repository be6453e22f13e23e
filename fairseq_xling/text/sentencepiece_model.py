"""Fields of a serialised sentencepiece model that its library does not give."""

from typing import Any


def model_part(model: bytes, *path: int) -> Any:
    """The first value at a path of field numbers: a whole number, or bytes; empty bytes if none.

    Protocol buffers: a field is a key, ``number << 3 | kind``, and a value; kind 0 is a whole
    number, 2 a size and so many bytes, 1 and 5 are 8 and 4 bytes.
    """
    for number in path:
        model = next((value for key, value in _fields(model) if key == number), b"")
    return model


def _fields(message: bytes):
    place = 0
    while place < len(message):
        key, place = _number(message, place)
        if key & 7 == 0:
            value, place = _number(message, place)
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None:
                size, place = _number(message, place)
            value, place = message[place : place + size], place + size
        yield key >> 3, value


def _number(message: bytes, place: int) -> tuple[int, int]:
    """A whole number in groups of 7 bits, the lowest first; a set top bit says that more follow."""
    value = shift = 0
    while True:
        byte = message[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place
