"""Damages inputs: what a cut link, a full disk, another version or a hostile file would make of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

LONGEST_BYTES = 8192
"""Inputs are cut here: how work grows beyond is tried by `benchmarks.fuzz.growth`."""

TOKENS: Sequence[bytes] = (
    *(b"", b"0", b"-1", b"1e999", b"-1e-999", b"NaN", b"Infinity", b"null", b"true", b"1.5", b"0x10", b"1_000"),
    *(b"9" * 19, b"9" * 450, b"9" * 5000, b"-" + b"9" * 30, b"1" + b"0" * 400 + b".5", "²".encode(), "١٢".encode()),
    *(b"[" * 2000, b'{"a":' * 2000, b"[]", b"{}", b'""', b'"\\ud800"', b'{"a": 1, "a": 2}', b"\xef\xbb\xbf"),
    *(b"\x00", b"\xff", b"\xed\xa0\x80", b"\r\n", b"\r", "\u2028".encode(), b"\x1b[2J", b"\x9b31m", b"\\", b"'", b'"'),
    *(b"../../etc/passwd", b"/dev/zero", b"C:\\x", b"NUL", b"a" * 300, b"\x7f" * 9, b"\x80" * 12, b"\xff\xff\xff\x7f"),
    *(b"@@END\n", b"@@rc 0\n", b"DATA", b"FAIL", b"OKAY", b": ", b"=", b"%", b",", b"-", b"$(x)", b"{iterations}"),
)
"""Words that trip readers: numbers no type holds, depth, other alphabets, control characters, paths, our own marks."""

Mutator = Callable[[random.Random, bytearray, Sequence[bytes]], None]


def mutated(draw: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Damage one of some seeds in one to eight places."""
    data = bytearray(draw.choice(seeds))
    for _ in range(draw.choice((1, 1, 1, 2, 3, 5, 8))):
        draw.choice(MUTATORS)(draw, data, seeds)
    return bytes(data[:LONGEST_BYTES])


def _at(draw: random.Random, data: bytearray) -> int:
    return draw.randrange(len(data) + 1)


def flip(draw: random.Random, data: bytearray, _seeds: Sequence[bytes]) -> None:
    """Change a byte."""
    if data:
        data[draw.randrange(len(data))] = draw.randrange(256)


def insert(draw: random.Random, data: bytearray, _seeds: Sequence[bytes]) -> None:
    """Put a word in."""
    at = _at(draw, data)
    data[at:at] = draw.choice(TOKENS)


def cut(draw: random.Random, data: bytearray, _seeds: Sequence[bytes]) -> None:
    """Cut the end off."""
    del data[_at(draw, data) :]


def delete(draw: random.Random, data: bytearray, _seeds: Sequence[bytes]) -> None:
    """Take a piece out."""
    at = _at(draw, data)
    del data[at : at + draw.choice((1, 2, 4, 16, 64))]


def repeat(draw: random.Random, data: bytearray, _seeds: Sequence[bytes]) -> None:
    """Repeat a piece."""
    at = _at(draw, data)
    piece = bytes(data[at : at + draw.choice((1, 2, 8, 32, 128))])
    data[at:at] = piece * draw.choice((1, 2, 10, 100))


def splice(draw: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    """Put a piece of another seed in."""
    other = draw.choice(seeds)
    begin = draw.randrange(len(other) + 1)
    at = _at(draw, data)
    data[at : at + draw.choice((0, 0, 8, 64))] = other[begin : begin + draw.choice((4, 32, 256, len(other) + 1))]


def swap_number(draw: random.Random, data: bytearray, _seeds: Sequence[bytes]) -> None:
    """Put another number in a number's place."""
    places = [at for at, byte in enumerate(data) if 0x30 <= byte <= 0x39 and (not at or not _is_digit(data[at - 1]))]
    if places:
        begin = draw.choice(places)
        end = begin
        while end < len(data) and _is_digit(data[end]):
            end += 1
        data[begin:end] = draw.choice(TOKENS[:19])


def swap_word(draw: random.Random, data: bytearray, _seeds: Sequence[bytes]) -> None:
    """Put a word in another's place: between quotes, commas, blanks."""
    words = bytes(data).split(draw.choice((b" ", b",", b'"', b":", b"\n", b"=")))
    if len(words) > 1:
        gone = draw.choice(words[1:])
        at = data.find(gone) if gone else -1
        if at >= 0:
            data[at : at + len(gone)] = draw.choice(TOKENS)


def swap_integer(draw: random.Random, data: bytearray, _seeds: Sequence[bytes]) -> None:
    """Put another four-byte integer in: a length, an offset."""
    if len(data) >= 4:
        at = draw.randrange(len(data) - 3)
        value = draw.choice((0, 1, 4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, len(data), draw.randrange(1 << 12)))
        data[at : at + 4] = value.to_bytes(4, "little")


def shuffle_lines(draw: random.Random, data: bytearray, _seeds: Sequence[bytes]) -> None:
    """Put lines in another order, or twice."""
    lines = bytes(data).split(b"\n")
    if len(lines) > 1:
        lines.insert(draw.randrange(len(lines)), draw.choice(lines))
        data[:] = b"\n".join(lines)


def _is_digit(byte: int) -> bool:
    return 0x30 <= byte <= 0x39


MUTATORS: Sequence[Mutator] = (
    flip,
    insert,
    cut,
    delete,
    repeat,
    splice,
    swap_number,
    swap_word,
    swap_integer,
    shuffle_lines,
)
