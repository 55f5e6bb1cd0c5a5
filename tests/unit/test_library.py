"""The model library against the papers' tables, and files against every way to get them wrong."""

import json
from math import prod
from pathlib import Path

import numpy as np
import pytest

import optmap
from optmap.base.errors import InputError, UnknownNameError
from optmap.count.meshes.batch import evaluate_batch
from optmap.count.meshes.count import NEST_EXACT
from optmap.files import library
from optmap.files.library import (
    list_machines,
    list_networks,
    list_workloads,
    machine_note,
    match_workloads,
    models_path,
    solvers_config_path,
    workload_note,
)
from optmap.files.network import network
from optmap.files.reading import load_yaml
from optmap.machines.core import Microkernel
from optmap.machines.fabric import fabric_of
from optmap.machines.machine import LevelKind
from optmap.search import random_nests
from optmap.workloads.amounts import ONE_WORD, Bandwidth, Capacity
from optmap.workloads.builders import conv2d
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

REFERENCE = json.loads((Path(__file__).parents[1] / "data" / "library_reference.json").read_text())

# MOpt Table 1, row by row: name (* = stride 2), K, C, H/W, R/S.
TABLE_1 = {
    "yolo9000": "Y0 32 3 544 3, Y2 64 32 272 3, Y4 128 64 136 3, Y5 64 128 136 1, Y8 256 128 68 3, Y9 128 256 68 1, "
    "Y12 512 256 34 3, Y13 256 512 34 1, Y18 1024 512 17 3, Y19 512 1024 17 1, Y23 28269 1024 17 1",
    "resnet18": "R1* 64 3 224 7, R2 64 64 56 3, R3 64 64 56 1, R4* 128 64 56 3, R5* 128 64 56 1, R6 128 128 28 3, "
    "R7* 256 128 28 3, R8 256 128 28 3, R9 256 256 14 3, R10* 512 256 14 3, R11* 512 256 14 1, R12 512 512 7 3",
    "mobilenet": "M1 32 32 112 3, M2* 64 64 112 3, M3 128 128 56 3, M4* 128 128 56 3, M5 256 256 28 3, "
    "M6* 256 256 28 3, M7 512 512 14 3, M8* 512 512 14 3, M9 1024 1024 7 3",
}
TABLE_1_ROWS = [(file, *row.split()) for file, rows in TABLE_1.items() for row in rows.split(",")]

# QuickFlow Table I, row by row as printed (columns I to XX).
QUICKFLOW = {
    "c": "128 512 3 64 128 256 256 576 3 72 64 24 16 128 256 128 576 256 72 256",
    "k": "256 512 64 64 128 256 512 576 96 72 256 88 16 128 256 256 576 256 72 256",
    "p": "56 28 112 56 28 14 7 7 176 28 56 28 224 112 56 32 7 14 28 56",
    "r": "3 3 7 3 3 3 3 5 3 3 1 1 3 9 3 4 5 3 3 5",
    "n": "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 64 128 32",
    "stride": "1 1 2 1 1 1 2 1 2 2 1 1 3 4 2 1 1 1 2 2",
    "dilation": "1 1 1 1 1 1 1 1 1 1 1 1 4 3 3 1 1 1 1 3",
}
COLUMNS = "I II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX"
ROMAN = COLUMNS.split()


def _window(stride, dilation=1):
    """(coefficient of the output position, coefficient of the filter tap) as pairs of terms."""
    return (("h", stride), ("r", dilation)), (("w", stride), ("s", dilation))


@pytest.mark.parametrize("name", list_workloads())
def test_every_workload_loads_under_its_name(name):
    workload = library.workload(name)
    assert workload.name == name
    assert workload.operations > 0
    assert parse_workload(workload.expression, workload.extents, name=name) == workload
    assert library.workload(name.upper()) is workload
    assert len(workload_note(name)) > 40


def test_how_many_there_are():
    files = [name.split("/")[0] for name in list_workloads()]
    counts = {file: files.count(file) for file in dict.fromkeys(files)}
    assert counts == {
        "chains": 7,
        "factorflow": 12,
        "mobilenet": 18,
        "quickflow": 22,
        "resnet18": 13,
        "resnet50": 5,
        "sunstone": 34,
        "tccg": 8,
        "yolo9000": 11,
    }


def test_names_are_in_the_order_of_the_tables():
    names = list_workloads()
    for earlier, later in (("yolo9000/Y2", "yolo9000/Y12"), ("resnet18/R8", "resnet18/R8a")):
        assert names.index(earlier) < names.index(later)
    assert [n.split("/")[1] for n in names if n.startswith("quickflow/")] == [*ROMAN, "XVIt", "XVIIt"]


@pytest.mark.parametrize("row", TABLE_1_ROWS, ids=" ".join)
def test_layers_of_mopt_table_1(row):
    file, name = row[:2]
    k, c, size, taps = map(int, row[2:])
    stride = 2 if name.endswith("*") else 1
    name = name.rstrip("*")
    out = (size + stride - 1) // stride
    window = {"r": taps, "s": taps, "h": out, "w": out}
    dense = {"n": 1, "k": k, "c": c, **window}
    layer = library.workload(f"{file}/{name}")
    if file == "mobilenet":
        assert layer.extents == {"n": 1, "c": c, **window}
        assert "k" not in layer.dims
        assert library.workload(f"{file}/{name}d").extents == dense
        assert tuple(a.terms for a in library.workload(f"{file}/{name}d").inputs[0].axes[2:]) == _window(stride)
    else:
        assert layer.extents == dense
    assert tuple(a.terms for a in layer.inputs[0].axes[2:]) == _window(stride)
    assert all(t.bytes == 4 for t in layer.tensors)
    assert layer.semantics is Semantics.ACCUMULATE


def test_r8a_is_the_network_s_own_layer():
    layer = library.workload("resnet18/R8a")
    assert layer.extents == {"n": 1, "k": 256, "c": 128, "r": 1, "s": 1, "h": 14, "w": 14}
    assert tuple(a.terms for a in layer.inputs[0].axes[2:]) == _window(2)


@pytest.mark.parametrize("column", range(20))
def test_convolutions_of_quickflow_table_i(column):
    printed = {row: int(cells.split()[column]) for row, cells in QUICKFLOW.items()}
    layer = library.workload(f"quickflow/{ROMAN[column]}")
    assert layer.extents == {
        "n": printed["n"],
        "k": printed["k"],
        "c": printed["c"],
        "r": printed["r"],
        "s": printed["r"],
        "h": printed["p"],
        "w": printed["p"],
    }
    assert tuple(a.terms for a in layer.inputs[0].axes[2:]) == _window(printed["stride"], printed["dilation"])


@pytest.mark.parametrize("column", [15, 16])
def test_transposed_convolutions_add_each_input_element_to_a_window_of_the_output(column):
    printed = {row: int(cells.split()[column]) for row, cells in QUICKFLOW.items()}
    layer = library.workload(f"quickflow/{ROMAN[column]}t")
    assert layer.operations == library.workload(f"quickflow/{ROMAN[column]}").operations
    shapes = {tensor.name: tuple(axis.span(layer.extents) for axis in tensor.axes) for tensor in layer.tensors}
    assert shapes["In"] == (1, printed["c"], printed["p"], printed["p"])
    assert shapes["Out"] == (1, printed["k"], *2 * (printed["p"] + printed["r"] - 1,))


# FactorFlow, computations.py: M, K, N of every product.
FACTORFLOW = {
    "KQV": (3 * 1024, 1024, 4096),
    "KTQ": (4096, 1024 // 16, 4096),
    "VScores": (1024 // 16, 4096, 4096),
    "Out": (1024, 1024, 4096),
    "FF1": (4096, 1024, 4096),
    "FF2": (1024, 4096, 4096),
    "MB1": (8192, 8192, 8192),
    "MB2": (1024, 8192, 1024),
    "MB3": (8, 8192, 8),
    "MB4": (8, 1024, 8192),
    "MB5": (8192, 1024, 8),
    "MB6": (512, 256, 256),
}


def test_products_of_factorflow():
    assert [name for name in list_workloads() if name.startswith("factorflow/")] == [
        f"factorflow/{name}" for name in FACTORFLOW
    ]
    for name, (m, k, n) in FACTORFLOW.items():
        layer = library.workload(f"factorflow/{name}")
        assert layer.extents == {"m": m, "k": k, "n": n}
        assert [tensor.dims for tensor in layer.tensors] == [{"m", "n"}, {"k", "n"}, {"m", "k"}]


def test_sunstone_s_resnet_is_the_network_with_batch_16():
    own = [library.workload(name) for name in match_workloads("sunstone/resnet18_*")]
    layers = [layer for layer in network("resnet18").layers if "h" in layer.dims and layer.extents["h"] > 1]
    shapes = {(tuple(layer.extents.items()), layer.inputs[0].axes) for layer in layers}
    assert {(tuple({**layer.extents, "n": 1}.items()), layer.inputs[0].axes) for layer in own} == shapes
    assert all(layer.extents["n"] == 16 for layer in own)


def test_weight_updates_compute_the_filter():
    for name in match_workloads("sunstone/update_*"):
        layer = library.workload(name)
        assert layer.output.dims == {"k", "c", "r", "s"}
        assert layer.extents["n"] == 16


PLACES = {
    "sunstone/*": ("sunstone-conventional", "sunstone-simba"),
    "quickflow/*": ("eyeriss", "simba", "tpuv1"),
    "factorflow/*": ("gemmini",),
}
MAPPED = [(name, place) for pattern, places in PLACES.items() for name in match_workloads(pattern) for place in places]


@pytest.mark.parametrize(("name", "place"), MAPPED)
def test_every_workload_of_a_paper_has_mappings_on_its_machines(name, place):
    workload = library.workload(name).with_semantics(Semantics.ASSIGN)
    fabric = fabric_of(workload, library.machine(place))
    batch = random_nests(fabric, 4, np.random.default_rng(0))
    assert evaluate_batch(batch, fabric, NEST_EXACT).valid.any()


@pytest.mark.parametrize("spec", REFERENCE["tccg"])
def test_contractions_of_ioopt_figure_5(spec):
    workload, expected = library.workload(f"tccg/{spec}"), REFERENCE["tccg"][spec]
    out, a, b = (t.dims for t in workload.tensors)
    merged = [prod(workload.extents[d] for d in group) for group in (out & a, out & b, a & b)]
    assert merged == [expected["I"], expected["J"], expected["K"]]
    assert sum(t.footprint(workload.extents) for t in workload.tensors) == expected["compulsory_words"]
    letters = ["".join(d for axis in t.axes for d in axis.dims) for t in workload.tensors]
    assert "-".join(letters) == spec


@pytest.mark.parametrize("name", REFERENCE["resnet50"])
def test_convolutions_of_resnet50(name):
    layer, expected = library.workload(f"resnet50/{name.removesuffix('_x')}"), REFERENCE["resnet50"][name]
    sizes = expected["args"]
    assert layer.extents == {d: sizes[f"L{'b' if d == 'n' else d}"] for d in layer.dims}
    assert tuple(a.terms for a in layer.inputs[0].axes[2:]) == _window(sizes["sh"])
    assert layer.operations == expected["operations"]
    assert layer.output.footprint(layer.extents) == expected["output_words"]
    assert layer.inputs[1].footprint(layer.extents) == expected["filter_words"]


@pytest.mark.parametrize(
    ("name", "expression", "extents"),
    [
        ("mttkrp_nell2", "Out[i,j] += A[i,k,l] * B[k,j] * C[l,j]", [12092, 32, 9184, 28818]),
        ("mttkrp_netflix", "Out[i,j] += A[i,k,l] * B[k,j] * C[l,j]", [480189, 32, 17770, 2182]),
        ("mttkrp_poisson1", "Out[i,j] += A[i,k,l] * B[k,j] * C[l,j]", [1024, 32, 1024, 1024]),
        ("sddmm_cant", "Out[i,j] += A[i,j] * B[i,k] * C[k,j]", [62451, 62451, 512]),
        ("ttmc_nell2", "Out[i,l,m] += A[i,j,k] * B[j,l] * C[k,m]", [12092, 9184, 28818, 8, 8]),
        ("mmc_attention", "Out[i,l] += A[i,j] * B[j,k] * C[k,l]", [512, 64, 512, 64]),
        ("tcl_vgg", "Out[l,m,n] += A[i,j,k] * B[i,l] * C[j,m] * D[k,n]", [512, 7, 7, 256, 4, 4]),
    ],
)
def test_computations_of_sunstone_table_ii(name, expression, extents):
    workload = library.workload(f"sunstone/{name}")
    assert workload.expression == expression
    assert list(workload.extents.values()) == extents


def test_machines():
    assert list_machines() == (
        "balanced",
        "diannao",
        "eyeriss",
        "eyeriss_like",
        "gemmini",
        "gemmini-buffers",
        "gpu_like",
        "i7-9700k",
        "i9-10980xe",
        "simba",
        "simba-cosa",
        "simba_like",
        "sunstone-conventional",
        "sunstone-simba",
        "tpuv1",
    )
    unified = ("balanced", "i7-9700k", "i9-10980xe")
    words = {name: [level.capacity.words(32) for level in library.machine(name).levels] for name in unified}
    assert words == {
        "balanced": [1024, 8192, 65536],
        "i7-9700k": [128, 8192, 65536, 3145728],
        "i9-10980xe": [512, 8192, 262144, 6488064],
    }
    for name in ("i7-9700k", "i9-10980xe"):
        machine = library.machine(name.upper())
        assert machine.name == name
        assert [level.name for level in machine.levels] == ["Reg", "L1", "L2", "L3"]
        assert machine.rates(32) == (65, 57, 28, 16)
        assert (
            {level.bandwidth.unit for level in machine.levels}
            == {level.capacity.unit for level in machine.levels}
            == {"bytes"}
        )
        assert [level.kind for level in machine.levels] == [LevelKind.SCRATCHPAD, *[LevelKind.CACHE] * 3]
        assert [level.shared for level in machine.levels] == [False, False, False, True]
        assert [level.fanout for level in machine.levels[:3]] == [1, 1, 1]
    assert library.machine("i7-9700k").cores == 8
    assert library.machine("i9-10980xe").cores == 18
    assert library.machine("i7-9700k").levels[0].microkernel == Microkernel(vector=16, broadcast=6)
    assert library.machine("i9-10980xe").levels[0].microkernel == Microkernel(vector=32, broadcast=10)
    balanced = library.machine("balanced")
    assert (balanced.cores, balanced.rates(32)) == (1, (57, 28, 16))
    assert {level.kind for level in balanced.levels} == {LevelKind.SCRATCHPAD}
    assert "relative" in machine_note("I7-9700K")


def test_globs():
    assert match_workloads("yolo9000/y1*") == tuple(f"yolo9000/Y{i}" for i in (12, 13, 18, 19))
    assert match_workloads("resnet18/R9") == ("resnet18/R9",)
    chains = {name for name in list_workloads() if not library.workload(name).is_product}
    assert set(match_workloads("*")) == set(list_workloads()) - chains
    assert set(match_workloads("chains/*")) == chains != set()
    with pytest.raises(UnknownNameError, match=r"no workload matches 'yolo/\*'.*yolo9000/"):
        match_workloads("yolo/*")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("R9", r"unknown workload 'R9'; did you mean resnet18/R9\?"),
        ("yolo", r"did you mean yolo9000/\*\?"),
        ("resnet18/R13", "did you mean .*resnet18/R1"),
        ("zzzz", r"known are chains/\*, factorflow/\*, mobilenet/\*, quickflow/\*"),
        ("", r"known are chains/\*, factorflow/\*"),
    ],
)
def test_unknown_workloads_suggest_known_ones(name, words):
    with pytest.raises(UnknownNameError, match=words):
        library.workload(name)
    with pytest.raises(UnknownNameError, match=words):
        workload_note(name)


def test_unknown_machines_suggest_known_ones():
    with pytest.raises(UnknownNameError, match=r"unknown machine 'i7'; did you mean i7-9700k\?"):
        library.machine("i7")
    with pytest.raises(UnknownNameError, match=r"known are balanced, diannao, eyeriss, .*i7-9700k, i9-10980xe"):
        machine_note("qqq")


def test_data_is_found_inside_the_package_or_beside_it(tmp_path, monkeypatch):
    assert (models_path() / "workloads" / "resnet18.yaml").is_file()
    package = tmp_path / "optmap"
    package.mkdir()
    monkeypatch.setattr(library, "files", lambda name: package)
    with pytest.raises(InputError, match=r"has no solvers\.cfg; install it again"):
        solvers_config_path()
    (tmp_path / "models").mkdir()
    (tmp_path / "solvers.cfg").touch()
    assert models_path() == tmp_path / "models"
    assert solvers_config_path() == tmp_path / "solvers.cfg"
    # An installed package has its data inside; what lies beside it belongs to others.
    (package / "_data" / "models").mkdir(parents=True)
    (package / "_data" / "solvers.cfg").touch()
    assert models_path() == package / "_data" / "models"
    assert solvers_config_path() == package / "_data" / "solvers.cfg"


def test_the_library_is_the_checkout_s_or_the_wheel_s():
    package = Path(optmap.__file__).parent
    assert models_path() in (package.parent / "models", package / "_data" / "models")


# Files of the user


def _file(tmp_path, text, name="my.yaml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_with_one_workload(tmp_path):
    path = _file(
        tmp_path,
        "expression: C[i,j] += A[i,k]*B[k,j]\nextents: {i: 2, j: 3, k: 4}\nbytes: {A: 1}\n"
        "semantics: assign\ncount: 3\nname: mine\n",
    )
    workload = library.workload(str(path))
    assert workload == library.workload(path)
    assert (workload.name, workload.count, workload.semantics) == ("mine", 3, Semantics.ASSIGN)
    assert workload.extents == {"i": 2, "j": 3, "k": 4}
    assert [t.bytes for t in workload.tensors] == [4, 1, 4]
    plain = _file(tmp_path, "conv2d: {k: 2, c: 3, h: 8, w: 8, r: 3, s: 3, stride: [1, 2]}\nbytes: 2")
    expected = conv2d(k=2, c=3, h=8, w=8, r=3, s=3, stride=(1, 2), bytes=2, name="my")
    assert library.workload(plain) == expected


def test_a_file_with_several_workloads(tmp_path):
    path = _file(
        tmp_path,
        "workloads:\n  a: &a {matmul: &m {i: 2, j: 3, k: 4}}\n  b: {matmul: {<<: *m, k: 9}}\n  c: *a\n",
    )
    assert library.workload(f"{path}/b").extents == {"i": 2, "j": 3, "k": 9}
    assert library.workload(f"{path}/a").name == "my/a"
    assert library.workload(f"{path}/c").extents == {"i": 2, "j": 3, "k": 4}
    with pytest.raises(InputError, match=r"holds 3 workloads; name one, as in .*my\.yaml/a"):
        library.workload(path)
    with pytest.raises(UnknownNameError, match=r"unknown workload 'd'; known are a, b, c"):
        library.workload(f"{path}/d")
    single = _file(tmp_path, "workloads: {only: {matmul: {i: 2, j: 3, k: 4}}}")
    assert library.workload(single).name == "my/only"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", r"my\.yaml: a mapping .* not empty"),
        ("- 1", r"my\.yaml: a mapping .* not a list"),
        ("a: [", r"my\.yaml:1:5: not valid YAML"),
        ("a: 1\na: 2", r"my\.yaml:2:1: key 'a' occurs twice"),
        ("a: {b: [{c: 1, c: 2}]}", r"my\.yaml:1:16: key 'c' occurs twice"),
        ("a: !!python/object/apply:os.getcwd []", r"my\.yaml:1:4: not valid YAML.*could not determine a constructor"),
        ("a: !!int on", r"my\.yaml:1:4: not valid YAML"),
        ("a: 1\n---\nb: 2", r"my\.yaml:2:1: not valid YAML.*document"),
        ("1: 2", r"my\.yaml: key 1 is 1, not text; put it in quotes"),
        ("workloads: {a: 3}", r"my\.yaml: workloads\.a: a mapping .* not 3"),
        ("workloads: {}", r"my\.yaml: workloads is empty"),
        ("workloads: {a: {matmul: {i: 1, j: 1, k: 1}}}\nextents: {}", r"my\.yaml: unknown key 'extents'"),
        ("extents: {i: 1}", r"my\.yaml: no workload here; give expression and extents, or one of conv2d"),
        ("expresion: C[i]+=A[i]", r"my\.yaml: unknown key 'expresion'; did you mean expression\?"),
        ("expression: C[i] += A[i]", r"my\.yaml: extents is missing"),
        ("expression: C[i] += A[i]\nextents: 3", r"my\.yaml: extents: a mapping .* not 3"),
        ("expression: C[i] += A[i]\nextents: {i: 0}", r"my\.yaml: extents\.i is 0; a whole number, 1 or more"),
        ("expression: C[i] += A[i]\nextents: {i: 1e3}", r"my\.yaml: extents\.i is 1000\.0; a whole number"),
        ("expression: C[i] += A[i]\nextents: {i: 9223372036854775808}", r"my\.yaml: .*extent of i .*2\^63-1"),
        ("expression: C[i] += A[q]\nextents: {i: 2}", r"my\.yaml: no extent for dim q(.|\n)*\^"),
        ("expression: 7\nextents: {i: 2}", r"my\.yaml: expression is 7; text is needed"),
        ("expression: C[i] += A[i]\nextents: {i: 2}\nmatmul: {}", "expression and matmul exclude each other"),
        ("matmul: {i: 2, j: 2, k: 2}\nextents: {i: 2}", r"my\.yaml: extents go with expression"),
        ("matmul: {i: 2, j: 2}", r"my\.yaml: matmul: k is missing"),
        ("matmul: {i: 2, j: 2, kk: 2}", r"my\.yaml: matmul: unknown key 'kk'; did you mean k\?"),
        ("matmul: {i: 2, j: 2, k: two}", r"my\.yaml: .*extent of k is 'two'"),
        ("matmul: {i: 2, j: 2, k: 2, name: x}", r"my\.yaml: matmul: unknown key 'name'"),
        ("conv2d: {k: 1, c: 1, h: 4, w: 4, r: 3, s: 3, strides: 2}", r"unknown key 'strides'; did you mean stride\?"),
        (
            "matmul: {i: 2, j: 2, k: 2}\nbytes: {A: 0}",
            r"my\.yaml: bytes\.A is 0 bytes; it must be a whole number of bits",
        ),
        ("matmul: {i: 2, j: 2, k: 2}\nbytes: {Q: 1}", r"my\.yaml: bytes given for 'Q'"),
        (
            "matmul: {i: 2, j: 2, k: 2}\nbytes: wide",
            r"my\.yaml: bytes is 'wide' bytes; it must be a whole number of bits",
        ),
        ("matmul: {i: 2, j: 2, k: 2}\ncount: 0", r"my\.yaml: count is 0"),
        ("matmul: {i: 2, j: 2, k: 2}\nsemantics: add", r"my\.yaml: unknown semantics 'add'; .*accumulate.*assign"),
        ("matmul: [1]", r"my\.yaml: matmul: a mapping .* not a list"),
        ("matmul: &m {i: *m, j: 2, k: 2}", r"my\.yaml: matmul\.i is nested"),
        ("- " * 1500, r"my\.yaml.*nested too deeply"),
        ("a: \0", r"my\.yaml: not valid YAML"),
    ],
)
def test_workload_files_that_are_refused(tmp_path, text, words):
    with pytest.raises(InputError, match=words):
        library.workload(_file(tmp_path, text))


GOOD_MACHINE = """
name: box
cores: 4
levels:
  - {name: L1, capacity: 1KiB, bandwidth: 2.5, kind: cache, energy_pj: 1.5}
  - {name: L2, capacity: 64 KiB, shared: true, inclusive: false}
"""


def test_a_machine_file(tmp_path):
    machine = library.machine(_file(tmp_path, GOOD_MACHINE))
    inner, outer = machine.levels
    assert (machine.name, machine.memory, machine.cores) == ("box", "Memory", 4)
    link = Bandwidth(amount=2.5, unit="words")
    assert (inner.capacity, inner.bandwidth, inner.kind) == (Capacity(amount=1024), link, LevelKind.CACHE)
    assert (inner.energy_pj, inner.fanout, inner.shared, inner.inclusive) == (1.5, 1, False, True)
    assert (outer.bandwidth, outer.fanout, outer.shared, outer.inclusive) == (ONE_WORD, 4, True, False)
    assert outer.kind is LevelKind.SCRATCHPAD
    explicit = GOOD_MACHINE.replace("shared: true", "shared: true, fanout: 4")
    assert library.machine(_file(tmp_path, explicit)).levels == machine.levels
    unnamed = _file(tmp_path, "memory: DRAM\nlevels: [{name: L1, capacity: 8w}]")
    assert (library.machine(unnamed).name, library.machine(unnamed).memory) == ("my", "DRAM")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("1KiB", "0KiB", r"my\.yaml: levels\[0\]\.capacity: .*'0KiB' is 0 bytes"),
        ("1KiB", "1024", r"my\.yaml: levels\[0\]\.capacity: .*no unit.*1024w"),
        ("1KiB", "true", r"my\.yaml: levels\[0\]\.capacity is True"),
        ("1KiB", ".nan", r"my\.yaml: levels\[0\]\.capacity: .*not a number"),
        ("capacity: 1KiB, ", "", r"my\.yaml: levels\[0\]: capacity is missing"),
        ("2.5", ".nan", r"my\.yaml: levels\[0\]\.bandwidth is nan; a positive finite number"),
        ("2.5", ".inf", r"my\.yaml: levels\[0\]\.bandwidth is inf"),
        ("2.5", "-1", r"my\.yaml: levels\[0\]\.bandwidth is -1"),
        ("2.5", "0", r"my\.yaml: levels\[0\]\.bandwidth is 0"),
        ("2.5", f"1{'0' * 400}", r"my\.yaml: levels\[0\]\.bandwidth is inf"),
        (
            "2.5",
            "fast",
            r"my\.yaml: levels\[0\]\.bandwidth: bandwidth 'fast' is not a number with a unit; write for example 64B",
        ),
        ("energy_pj: 1.5", "energy_pj: .nan", r"my\.yaml: levels\[0\]\.energy_pj is nan"),
        ("energy_pj: 1.5", "energy_pj: -1", r"my\.yaml: levels\[0\]\.energy_pj is -1"),
        ("kind: cache", "kind: no", r"my\.yaml: levels\[0\]: unknown kind 'no'; known are scratchpad, cache"),
        (
            "kind: cache",
            "kind: cash",
            r"my\.yaml: levels\[0\]: unknown kind 'cash'; did you mean cache\? Known are scratchpad, cache",
        ),
        ("kind: cache", "knd: cache", r"my\.yaml: levels\[0\]: unknown key 'knd'; did you mean kind\?"),
        ("shared: true", "shared: 1", r"my\.yaml: levels\[1\]\.shared is 1; true or false is needed"),
        ("shared: true, ", "", r"my\.yaml: cores is 4, but no level is shared"),
        ("shared: true", "shared: true, fanout: 3", r"my\.yaml: cores is 4, but the fanouts multiply to 3"),
        ("cores: 4", "cores: 0", r"my\.yaml: cores is 0"),
        ("cores: 4", "coress: 4", r"my\.yaml: unknown key 'coress'; did you mean cores\?"),
        ("cores: 4", "core: 4", r"my\.yaml: core"),
        ("name: L2", "name: L1", r"my\.yaml: machine box: level names repeat"),
        ("name: L2", "nome: L2", r"my\.yaml: levels\[1\]: unknown key 'nome'"),
        ("name: L2, ", "", r"my\.yaml: levels\[1\]: name is missing"),
        ("kind: cache", "microkernel: {vector: 8}", r"my\.yaml: levels\[0\]\.microkernel: broadcast is missing"),
        ("kind: cache", "microkernel: 8", r"my\.yaml: levels\[0\]\.microkernel: a mapping"),
    ],
)
def test_machine_files_that_are_refused(tmp_path, old, new, words):
    assert old in GOOD_MACHINE
    with pytest.raises(InputError, match=words):
        library.machine(_file(tmp_path, GOOD_MACHINE.replace(old, new)))


def test_machines_without_levels(tmp_path):
    for levels, called in (("[]", "an empty list"), ("3", "3"), ("{}", "a mapping")):
        with pytest.raises(InputError, match=rf"my\.yaml: levels is {called}; a list with at least one entry"):
            library.machine(_file(tmp_path, f"levels: {levels}"))
    with pytest.raises(InputError, match=r"my\.yaml: levels is missing"):
        library.machine(_file(tmp_path, "name: x"))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match=r"absent\.yaml: no such file"):
        library.workload(tmp_path / "absent.yaml")
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(InputError, match=r"folder\.yaml is a folder, and a machine is needed"):
        library.machine(tmp_path / "folder.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"name: caf\xe9")
    with pytest.raises(InputError, match=r"latin\.yaml: cannot be read"):
        library.machine(tmp_path / "latin.yaml")


def test_yaml_is_plain_data(tmp_path):
    path = _file(tmp_path, "a: &x {b: 1}\nc: [*x, 2.5, text, null]\n")
    assert load_yaml(path) == {"a": {"b": 1}, "c": [{"b": 1}, 2.5, "text", None]}


@pytest.mark.parametrize("name", ["resnet18/fc", "MobileNet/p1"])
def test_layers_of_networks_are_workloads_by_name(name: str) -> None:
    layer = library.workload(name)
    assert layer in network(name.split("/", maxsplit=1)[0]).layers
    assert layer.title.casefold() == name.casefold()
    assert workload_note(name)
    assert layer.title in library.list_layers()
    assert layer.title not in list_workloads()


def test_every_layer_of_every_network_is_found() -> None:
    for each in list_networks():
        for layer in network(each).layers:
            assert library.workload(layer.title).extents == layer.extents
