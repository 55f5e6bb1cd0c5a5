"""The oracle of wires agrees with Timeloop's records, the product and its checker with the oracle."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
import wires_oracle
from wires_attack_cases import attacked
from wires_oracle import Level, Problem, Tensor, exact, recorded_energies, timeloop

RECORDS = Path(__file__).parents[1] / "data" / "wires_conformance.json"
CASES = 40


def test_the_oracle_has_timeloops_energies() -> None:
    rows = [row for record in json.loads(RECORDS.read_text(encoding="utf-8")) for row in recorded_energies(record)]
    assert len(rows) == 312
    assert sum(expected > 0 for _, expected, _ in rows) == 120
    for place, expected, found in rows:
        assert found == pytest.approx(expected, rel=1e-9), place


def test_a_mesh_by_hand() -> None:
    """Six children on a mesh of 4 x 4: those of one k share a word of A, those of one i are added up to one of C."""
    level = Level(
        temporal=(), spatial=(("k", 2, "Y"), ("i", 3, "X")), keeps=frozenset("CAB"), columns=4, rows=4, hop=Fraction(1)
    )
    operands = (("C", True, "i"), ("A", False, "k"), ("B", False, "ik"))
    tensors = tuple(Tensor(name, out, tuple(((dim, 1),) for dim in text)) for name, out, text in operands)
    units = Level(temporal=(), spatial=(), keeps=frozenset("CAB"))
    problem = Problem(tensors, (units, level))
    assert [level.place(child) for child in range(6)] == [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1), (1, 1)]
    # Words enter at row 1.5. A: to children 0, 1, 2, and to 3, 4, 5; C: to 0 and 3, to 1 and 4, to 2 and 5.
    ways = {"A": 2 + 3 * Fraction(3, 2) + 3 + Fraction(3, 2) + 2 * Fraction(1, 2)}
    ways["C"] = 3 + Fraction(3, 2) * 2 + 1 + Fraction(3, 2) + Fraction(1, 2) + 2 + Fraction(3, 2) + Fraction(1, 2)
    ways["B"] = (0 + 1 + 2 + 3) + 4 * Fraction(3, 2) + (0 + 1) + 2 * Fraction(1, 2)
    for tensor in tensors:
        words, energy = exact(problem, tensor)
        assert words[1] == {"C": 3, "A": 2, "B": 6}[tensor.name]
        assert energy[1] == ways[tensor.name]
        assert timeloop(problem, tensor) == (words, energy)


def test_the_product_and_its_checker_count_as_the_oracle() -> None:
    found = list(attacked(CASES, 3))
    assert not [wrong for _, wrong in found if wrong]
    total = Counter[str]()
    for seen, _ in found:
        total.update(seen)
    assert total["cases"] == CASES
    for counting in ("exact", "timeloop"):
        assert total[f"{counting}: such with a price to pay"] > CASES
        assert total[f"{counting}: a price of wires changed refused"]


def test_another_way_to_children_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """As wires were counted once: words go to every child by a way of its own."""

    def apart(self: Level, group: list[int]) -> Fraction:
        middle = Fraction(self.board[1] - 1, 2)
        return sum((column + abs(middle - row) for column, row in map(self.place, group)), Fraction(0))

    monkeypatch.setattr(wires_oracle.Level, "hops", apart)
    wrong = [wrong for _, wrong in attacked(CASES, 3) if wrong]
    assert wrong
    assert all("'wires'" in each for each in wrong)
