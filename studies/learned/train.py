"""Trains the decision trees of this study: plays drives that explore, learns from their reads, writes trees/*.csv.

    .venv/bin/python studies/learned/train.py

What it learns from is what a controller sees: what it knew before a first sense, what it chose (by a draw, half of the
time each), and how long the page then took. The same drives give the same trees, byte for byte.
"""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ssdlab.common.output import replacing
from ssdlab.runs.explain import Explanation, explain
from ssdlab.runs.options import options_of

HERE = Path(__file__).parent
Row = tuple[str, str, str, str, str]
"""A node of a tree: COLUMNS."""
COLUMNS = ("question", "feature", "at_most", "otherwise", "value")
KNOWN = ("pec", "days", "layer", "kind", "last", "weight", "hasty_weight", "hasty_failed", "failed", "waiting", "start")
"""What trees may look at; `hasty` too, where it is asked whether a retry follows at once."""
PAGE = ("pec", "days", "layer", "kind")
"""What is known of a page whatever was read before: starts are learned from that alone, so that they need no memory."""

AGES = (
    "pec=0", "pec=0,retention=uniform:0..3mo", "pec=500,retention=uniform:0..6mo", "pec=1000,retention=uniform:0..12mo",
    "pec=1500,retention=uniform:0..3mo", "pec=1500,retention=uniform:0..12mo", "pec=2000,retention=uniform:0..12mo",
)  # fmt: skip
"""Drives that are trained on; the sweeps test on other ages and seeds, and on another chip."""
SEEDS = (101, 102)
WARMUP, READS = 16_000, 8_000
"""Requests of each drive: until its memories have something in them, and those that are learned from."""
BASE: dict[str, Any] = {
    "workload.footprint": "8GiB", "workload.bs": "16KiB", "workload.align": "16KiB", "workload.iodepth": 1,
    "ecc.code": "qc-ldpc", "ecc.t_decode": "1us",
}  # fmt: skip


class Family(NamedTuple):
    """A scheme whose first senses are learned."""

    scheme: str
    questions: tuple[str, ...]


FAMILIES = {
    "near-zero": Family("near-zero,sensing=adaptive-learned", ("haste",)),
    "rif": Family("rif,start=tracked,sensing=adaptive-learned", ("haste",)),
    "pnar2": Family("pnar2,sensing=adaptive-learned,pipeline=cache-read-learned", ("haste", "pipeline")),
    "rif-start": Family("rif,start=learned,sensing=adaptive-learned", ("start", "haste")),
}
LOOKS = [("pipeline" if name == "hasty" else "haste", name) for name in (*KNOWN, "hasty")]


def exploring(start: list[Row]) -> str:
    """Trees that say yes to half of the reads and look at everything, so that the drive keeps it; with starts."""
    rows = [*start]
    for question in ("haste", "pipeline"):
        names = [name for of, name in LOOKS if of == question]
        for at, name in enumerate(names):
            rows.append((question, name, "0", str(at + 2), ""))
        rows += [(question, "leaf", "", "", "0.5")] * 2
    return written(rows)


def written(rows: list[Row]) -> str:
    """Rows of trees as a file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *rows])
    return text.getvalue()


def took(explanation: Explanation) -> int:
    """What a page took from its first sense on [ns]."""
    (stages,) = explanation.parts
    first = next(stage for stage in stages if stage.what in ("command", "sense"))
    return stages[-1].to_ns - first.from_ns


def samples(family: Family, start: list[Row]) -> list[dict[str, int]]:
    """What drives of a family knew before each first sense, what they chose, and what the page took [ns]; ``start`` is
    the tree of their starts, where these are learned."""
    found = []
    with TemporaryDirectory() as folder:
        trees = Path(folder, "trees.csv")
        trees.write_text(exploring(start), encoding="utf-8")
        for age in AGES:
            for seed in SEEDS:
                settings = BASE | {"read.trees": str(trees)}
                options = options_of(
                    {
                        "device": "asplos21", "workload": "random-read-closed", "requests": WARMUP + READS,
                        "seed": seed, "warmup": WARMUP, "age": age, "scheme": family.scheme, "settings": settings,
                    }
                )  # fmt: skip
                for of in explain(options, READS, ()).requests:
                    if len(of.parts) == 1 and len(of.first_senses) == 1:
                        found.append(dict(of.first_senses[0]) | {"took": took(of), "request": of.request})
    return found


def policy(rows: list[dict[str, int]], arm: str, known: tuple[str, ...], question: str, leaves: int) -> list[Row]:
    """The tree that says when an arm pays: what a page takes with it and without it is learned by boosted trees of
    their own from the reads that took it and those that did not; the one tree follows the sign of the difference,
    weighted by its size."""
    features = np.array([[row[name] for name in known] for row in rows], dtype=float)
    chosen = np.array([row[arm] for row in rows], dtype=bool)
    time = np.array([row["took"] for row in rows], dtype=float)
    models = []
    for of in (chosen, ~chosen):
        model = HistGradientBoostingRegressor(max_iter=150, min_samples_leaf=60, random_state=1)
        models.append(model.fit(features[of], time[of]))
    gain = models[1].predict(features) - models[0].predict(features)
    tree = DecisionTreeClassifier(max_leaf_nodes=leaves, min_samples_leaf=100, random_state=1)
    tree.fit(features, gain > 0, sample_weight=np.abs(gain))
    yes = list(tree.classes_).index(True) if True in tree.classes_ else None
    share = tree.tree_.value[:, 0, :]
    answers = ["1" if yes is not None and of[yes] > 0.5 * of.sum() else "0" for of in share]
    return nodes(tree.tree_, known, question, answers)


def start(rows: list[dict[str, int]], leaves: int) -> list[Row]:
    """The tree that says where a page is read best, from pages that dies have found their best references of."""
    rows = [row for row in rows if "read_by" in row]
    features = np.array([[row[name] for name in PAGE] for row in rows], dtype=float)
    step = np.array([row["read_by"] for row in rows], dtype=float)
    tree = DecisionTreeRegressor(max_leaf_nodes=leaves, min_samples_leaf=30, random_state=1).fit(features, step)
    return nodes(tree.tree_, PAGE, "start", [str(round(float(of))) for of in tree.tree_.value[:, 0, 0]])


def nodes(tree: Any, known: tuple[str, ...], question: str, answers: list[str]) -> list[Row]:
    """The rows of a tree: a node's smaller side follows it, and sides that say the same are one leaf."""

    def below(node: int) -> list[Row]:
        if tree.children_left[node] < 0:
            return [(question, "leaf", "", "", answers[node])]
        left, right = below(tree.children_left[node]), below(tree.children_right[node])
        if left == right and len(left) == 1:
            return left
        limit = str(int(np.floor(tree.threshold[node])))
        branch = (question, known[tree.feature[node]], limit, str(1 + len(left)), "")
        # Nodes are numbered from the root on: those of the right side behind those of the left.
        return [branch, *(moved(row, 1) for row in left), *(moved(row, 1 + len(left)) for row in right)]

    return below(0)


def moved(row: Row, by: int) -> Row:
    """A node whose tree is a part of another one, this many nodes behind its root."""
    question, feature, limit, otherwise, value = row
    return (question, feature, limit, str(int(otherwise) + by) if otherwise else "", value)


def train(name: str) -> list[Row]:
    """The trees of a family. Starts are learned first: haste meets what begins by them, and needs no memory then."""
    family, kept = FAMILIES[name], []
    starts: list[Row] = [("start", "leaf", "", "", "0")]
    if "start" in family.questions:
        starts = start(samples(family, starts), leaves=160)
        kept += starts
    rows = samples(family, starts)
    known = (*PAGE, "waiting", "start") if "start" in family.questions else KNOWN
    kept += policy(rows, "hasty", known, "haste", leaves=24)
    if "pipeline" in family.questions:
        kept += policy(rows, "ahead", (*known, "hasty"), "pipeline", leaves=24)
    return kept


def main(names: list[str]) -> None:
    """Writes the trees of these families."""
    (HERE / "trees").mkdir(exist_ok=True)
    for name in names or FAMILIES:
        rows = train(name)
        with replacing(HERE / "trees" / f"{name}.csv") as path:
            Path(path).write_text(written(rows), encoding="utf-8")
        print(f"trees/{name}.csv: {len(rows)} nodes", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
