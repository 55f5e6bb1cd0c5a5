"""`optmap algorithms` through the command line."""

from __future__ import annotations


def test_every_algorithm_is_at_or_above_the_bound(optmap, tmp_path) -> None:
    plot = tmp_path / "plot.png"
    arguments = ("algorithms", "resnet50/conv2", "--memory", "1024w:65536w", "--points", "3")
    document = optmap(*arguments, "--json", "--plot", str(plot)).document()
    rows = document["rows"]
    assert {row["algorithm"] for row in rows} == {"bound", "blocked", "im2col", "winograd", "fft", "naive"}
    assert len({row["memory_words"] for row in rows}) == 3
    assert all(row["ratio"] >= 1 for row in rows if row["algorithm"] in {"blocked", "naive"})
    assert plot.read_bytes().startswith(b"\x89PNG")
    table = optmap(*arguments).out
    assert "im2col" in table
    assert "approximation" in table


def test_a_product_is_no_convolution(optmap) -> None:
    run = optmap("algorithms", "tccg/ab-ac-cb", "--memory", "1024w", code=2)
    assert "convolution" in run.err
