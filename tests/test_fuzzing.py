"""The bounded form of fuzzing what Python reads: the corpus, and some mutations that depend on their number alone."""

import pytest

import fuzzing

MUTATIONS = 150


@pytest.mark.parametrize("target", fuzzing.TARGETS)
def test_no_reader_raises_anything_but_an_input_error(target: str) -> None:
    inputs = fuzzing.corpus(target)
    assert inputs
    for data in inputs:
        fuzzing.feed(target, data)
    for number in range(MUTATIONS):
        fuzzing.feed(target, fuzzing.mutated(inputs, number))


def test_mutations_depend_on_their_number_alone() -> None:
    inputs = [b"one input", b"another\ninput"]
    assert fuzzing.mutated(inputs, 7) == fuzzing.mutated(inputs, 7)
    assert len({fuzzing.mutated(inputs, number) for number in range(50)}) > 40
