"""The printed loop nest: read back, run, and compared with the mapping it came from."""

import re
from dataclasses import replace
from itertools import pairwise, product
from math import prod

import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import machines, mappings, workloads

from optmap.base.errors import InputError
from optmap.machines.machine import Level, Machine, two_level
from optmap.mappings.held import Corner, Held
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.questions.objective import LOADS
from optmap.report import loop_nest, statement
from optmap.search import METHODS, Question
from optmap.workloads.amounts import Capacity
from optmap.workloads.builders import conv2d, matmul
from optmap.workloads.workload import Semantics

LOOP = re.compile(r"(?:parallel )?for \((\w+) = (.+?); (\w+) < (.+?); (.+)\)$")
TOKEN = re.compile(r"\w+|[()+,-]")


def value(text, env):
    """The value of a printed expression: names, numbers, +, -, min(…), ceildiv(…)."""
    tokens = TOKEN.findall(text)

    def total():
        result = atom()
        while tokens and tokens[0] in "+-":
            sign = 1 if tokens.pop(0) == "+" else -1
            result += sign * atom()
        return result

    def atom():
        token = tokens.pop(0)
        if token in ("min", "ceildiv"):
            tokens.pop(0)
            values = [total()]
            while tokens.pop(0) == ",":
                values.append(total())
            return min(values) if token == "min" else -(-values[0] // values[1])
        return int(token) if token.isdigit() else env[token]

    return total()


def points(text, dims):
    """Run a printed nest; every execution of the statement as a point."""
    lines = [line.strip() for line in text.splitlines() if not line.strip().startswith("/*")]
    found = []

    def run(number, env):
        line = lines[number]
        loop = LOOP.match(line)
        if loop:
            name, start, same, end, step = loop.groups()
            assert same == name
            width = 1 if step == f"{name}++" else value(step.removeprefix(f"{name} += "), env)
            for index in range(value(start, env), value(end, env), width):
                run(number + 1, {**env, name: index})
        elif "+=" in line:
            found.append(tuple(env[d] for d in dims))
        else:
            name, start = line.removesuffix(";").split(" = ")
            run(number + 1, {**env, name: value(start, env)})

    run(0, {})
    return found


@given(st.data())
@settings(max_examples=cases(30, 150))
def test_every_point_runs_once(data):
    workload = data.draw(workloads(max_extent=6, max_operations=600))
    machine = data.draw(machines(max_fanout=3))
    mapping = data.draw(mappings(workload, machine))
    seen = points(loop_nest(workload, machine, mapping), workload.dims)
    assert sorted(seen) == sorted(product(*(range(n) for _, n in workload.sizes)))


def test_points_of_one_level_run_tile_by_tile():
    workload = matmul(i=5, j=4, k=3)
    machine = two_level(Capacity(amount=64, unit="words"))
    level = LevelMapping(level="Fast", tile={"i": 2, "j": 3, "k": 1}, permutation=("j", "i", "k"), spatial={})
    text = loop_nest(workload, machine, Mapping(levels=(level,)))
    order = [(i // 2, j // 3, k) for i, j, k in points(text, ("i", "j", "k"))]
    tiles = list(dict.fromkeys(order))
    assert tiles == [(i, j, k) for j in range(2) for i in range(3) for k in range(3)]
    assert sum(a != b for a, b in pairwise(order)) == len(tiles) - 1


def held_of(output, first, second, *inner):
    """What a matrix product holds: a reuse position per tensor, and the outermost loops inside a tile."""
    return Held(positions={"C": output, "A": first, "B": second}, streams={}, inner=inner)


def test_text_of_a_tiled_matrix_product():
    workload = matmul(i=2000, j=1500, k=1500)
    machine = two_level(Capacity(amount=1024, unit="words"))
    level = LevelMapping(level="Fast", tile={"i": 31, "j": 30, "k": 1}, permutation=("i", "j", "k"), spatial={})
    text = loop_nest(workload, machine, Mapping(levels=(level,)), held=held_of(1, 1, 0, "j"))
    assert text == (
        "/* Fast: tiles of i=31, j=30, k=1 */\n"
        "for (i_Fast = 0; i_Fast < 2000; i_Fast += 31)\n"
        "  for (j_Fast = 0; j_Fast < 1500; j_Fast += 30)\n"
        "    for (k_Fast = 0; k_Fast < 1500; k_Fast += 1)\n"
        "      /* load, and store when left, C: unless still held */\n"
        "      /* load A: unless still held */\n"
        "      /* load B: one iteration of the outermost loops below at a time */\n"
        "      k = k_Fast;\n"
        "      for (j = j_Fast; j < j_Fast + 30; j++)\n"
        "        for (i = i_Fast; i < min(i_Fast + 31, 2000); i++)\n"
        "          C[i][j] += A[i][k] * B[k][j];\n"
    )


def test_corners_follow_the_tiles_that_left_them_out():
    workload = matmul(i=5, j=4, k=3)
    machine = two_level(Capacity(amount=99, unit="words"))

    def one_level(**tile):
        return Mapping(levels=(LevelMapping(level="Fast", tile=tile, permutation=("i", "j", "k"), spatial={}),))

    corner = Corner(
        sizes={"i": 1, "k": 2},
        mapping=one_level(i=2, j=2, k=1),
        held=held_of(1, 1, 1),
    )
    held = replace(held_of(1, 1, 1), corner=corner)
    tiles, corners = loop_nest(workload, machine, one_level(i=2, j=4, k=3), held=held).split("/* the corners")
    test = "if (i % 2 < 1 || k % 3 < 1)\n"
    assert test in tiles
    assert "number i below is iteration 2*(i/1) + 1 + i%1 above" in corners
    assert "number k below is iteration 3*(k/2) + 1 + k%2 above" in corners
    ran = [p for p in points(tiles.replace(test, ""), ("i", "j", "k")) if p[0] % 2 < 1 or p[2] % 3 < 1]
    ran += [(2 * i + 1, j, 3 * (k // 2) + 1 + k % 2) for i, j, k in points("/*" + corners, ("i", "j", "k"))]
    assert sorted(ran) == sorted(product(range(5), range(4), range(3)))


def test_a_split_hands_out_shares():
    workload = matmul(i=10, j=4, k=3)
    machine = Machine(
        name="two cores",
        levels=(Level(name="L1", capacity=Capacity(amount=99, unit="words"), shared=True, fanout=2),),
    )
    level = LevelMapping(level="L1", tile={"i": 6, "j": 4, "k": 3}, permutation=("i", "j", "k"), spatial={"i": 2})
    text = loop_nest(workload, machine, Mapping(levels=(level,)))
    assert "parallel for (i_L1_part = i_L1; i_L1_part < min(i_L1 + 6, 10);" in text
    assert "i_L1_part += ceildiv(min(i_L1 + 6, 10) - i_L1, 2))" in text
    assert len(set(points(text, ("i", "j", "k")))) == prod((10, 4, 3))


def test_statement_has_coefficients_offsets_and_semantics():
    workload = conv2d(k=2, c=3, h=8, w=8, r=3, s=3, stride=2).with_semantics(Semantics.ASSIGN)
    assert statement(workload) == (
        "Out[n][k][h][w] += In[n][c][2*h + r][2*w + s] * Ker[k][c][r][s];  /* Out starts at 0 */"
    )


def test_comments_stand_where_tensors_are_brought_in():
    workload = matmul(i=40, j=40, k=40)
    machine = two_level(Capacity(amount=60, unit="words"))
    level = LevelMapping(level="Fast", tile={"i": 1, "j": 4, "k": 4}, permutation=("k", "i", "j"), spatial={})
    text = loop_nest(workload, machine, Mapping(levels=(level,)), held=held_of(1, 2, 4))
    lines = [line.strip() for line in text.splitlines()]
    loops = {line[5 : line.index(" =")]: n for n, line in enumerate(lines) if line.startswith("for")}
    where = {name: next(n for n, line in enumerate(lines) if f" {name}: " in line) for name in "CAB"}
    assert where["B"] < loops["k_Fast"] < loops["i_Fast"] < where["A"] < loops["j_Fast"] < where["C"] < loops["j"]


def test_the_answer_of_iooub_prints_and_runs():
    workload = conv2d(k=4, c=3, h=6, w=6, r=3, s=3)
    machine = two_level(Capacity(amount=60, unit="words"))
    result = METHODS["iooub"].run(Question(workload=workload, machine=machine, objective=LOADS))
    assert result.held is not None
    text = loop_nest(workload, machine, result.mapping, held=result.held)
    assert len(points(text, workload.dims)) == workload.operations
    assert all(f"{name}:" in text for name in ("Out", "In", "Ker"))


def test_a_foreign_mapping_is_refused():
    workload = matmul(i=4, j=4, k=4)
    level = LevelMapping(level="L1", tile={"i": 1, "j": 1, "k": 1}, permutation=("i", "j", "k"), spatial={})
    with pytest.raises(InputError, match="Fast"):
        loop_nest(workload, two_level(Capacity(amount=9, unit="words")), Mapping(levels=(level,)))
