"""Generate tokens and text with the word frequencies of a language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_devperf.inputs.bits import Bits, whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TOKENS_DOMAIN, TEXT_DOMAIN = 5, 6
"""Seed domains."""

MOST = 1 << 26
"""Most tokens or words: half a gigabyte; a larger number is a mistake."""

LARGEST_VOCABULARY = 1 << 31
"""Token ids fit the int32 that most models expect."""

SENTENCE_WORDS = (6, 18)
"""Words per sentence: at least the first, below the second."""

COMMA_EVERY = 9
"""One word in nine is followed by a comma, about as often as in prose."""

LEXICON = (
    "the of and to in a is that it was for on as with be by he at from his this are had not but which one "
    "you they have her she were all an their there been who when more will would if what about time him "
    "out up so said some into than then its could them only other two do any new work first may these "
    "after over such way down should people made between long where through year before world still "
    "water house light small river city letter number winter measure minute question paper window "
    "machine language distance mountain morning picture temperature instrument yesterday information "
    "development international understanding responsibility"
)
"""English words, most frequent first."""

WORDS = tuple(LEXICON.split())


def tokens(length: int, *, vocabulary: int = 30_000, seed: int = 0) -> NDArray[np.int64]:
    """Draw token ids; low ids are much more frequent than high ones, as with a real tokenizer.

    Args:
        length: Number of tokens.
        vocabulary: Exclusive upper bound of the ids.
        seed: A different seed gives a different sequence.

    Returns:
        (length,) int64 in [0, vocabulary).

    Raises:
        CaseError: A parameter is out of bounds.
    """
    length = whole("length", length, least=1, most=MOST)
    vocabulary = whole("vocabulary", vocabulary, least=1, most=LARGEST_VOCABULARY)
    return _ranks(Bits(TOKENS_DOMAIN, seed), length, vocabulary)


def text(words: int, *, seed: int = 0) -> str:
    """Generate sentences of English words.

    Args:
        words: Number of words.
        seed: A different seed gives a different text.

    Returns:
        Words separated by single blanks, with capitals, commas and full stops.

    Raises:
        CaseError: A parameter is out of bounds.
    """
    words = whole("words", words, least=1, most=MOST)
    bits = Bits(TEXT_DOMAIN, seed)
    ranks = _ranks(bits, words, len(WORDS)).tolist()
    commas = bits.below(words, COMMA_EVERY).tolist()
    written: list[str] = []
    while len(written) < words:
        start = len(written)
        end = min(words, start + bits.one(*SENTENCE_WORDS))
        sentence = [WORDS[ranks[at]] + ("," if commas[at] == 0 else "") for at in range(start, end)]
        sentence[0] = sentence[0].capitalize()
        sentence[-1] = sentence[-1].rstrip(",") + "."
        written.extend(sentence)
    return " ".join(written)


def _ranks(bits: Bits, count: int, bound: int) -> NDArray[np.int64]:
    """Draw ranks below `bound` with a frequency of about one over the rank: (count,) int64.

    Draws a uniform number of bits, then a uniform number of that many bits: each octave of ranks is equally
    likely, which is Zipf's law in integers.
    """
    octaves = bound.bit_length()
    octave = bits.below(count, octaves)
    # One octave's numbers are 2**octave - 1 … 2**(octave + 1) - 2: together they cover every rank from 0.
    within = (bits.draw(count, 32) << octave) >> 32
    return ((1 << octave) - 1 + within) % bound
