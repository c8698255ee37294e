"""The longest tests: those that are named are there, and each is run as often as its share says."""

import pytest

from drawing import OF_CRATES, ROOT, files, is_drawn, skipped


@pytest.mark.parametrize("name", OF_CRATES)
def test_a_named_test_of_the_crates_is_there(name: str) -> None:
    program, _, path = name.partition(": ")
    *modules, function = [part for part in path.split("::") if part != "tests"]
    below = "ssd/src" if program == "ssd" else f"*/tests/{program}"
    files = list(ROOT.glob(f"crates/{below}/{'/'.join(modules)}.rs"))
    assert any(f"fn {function}(" in file.read_text() for file in files), files


def test_each_is_run_in_one_tree_of_so_many() -> None:
    trees = [f"{number:040x}" for number in range(2000)]
    for name in ("tests/test_a.py::test_one", OF_CRATES[0]):
        drawn = sum(is_drawn(name, 5, tree) for tree in trees)
        assert abs(drawn - 400) < 5 * 18  # Five standard deviations of a binomial distribution.
    assert skipped(1, trees[0]) == []
    assert skipped(5, "") == [], "without a tree all are run"
    assert skipped(5, trees[0]) != skipped(5, trees[1])


def test_each_file_of_the_crates_tests_is_drawn_for_some_tree() -> None:
    every = files(4, "")
    assert {"garbage_collection::", "soak::", "code::"} <= set(every), "without a tree all are"
    drawn = [files(4, f"{number:040x}") for number in range(60)]
    assert set().union(*drawn) == set(every)
    assert max(map(len, drawn)) < len(every) / 2
