"""What is not installed is named itself: a package of another project is called optmap on the public index."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

import pytest

import optmap
from optmap.base.errors import InputError
from optmap.base.extras import install

ROOT = Path(__file__).resolve().parents[2]
KINDS = {".py", ".md", ".ipynb", ".yaml", ".yml", ".cfg", ".toml", ".txt", ".json", ".lp", "", ".cff"}
FROM_THE_INDEX = re.compile(r"""pip3? install(?:\s+['"]?[-\w.\[\],<>=~!]+['"]?)*?\s+['"]?optmap\b(?!\.)""")


def files() -> list[Path]:
    """Every file of the project that somebody reads."""
    places = [ROOT / name for name in ("optmap", "models", "notebooks", "tests", "docs", ".ci")]
    found = [path for place in places for path in place.rglob("*") if not {"__pycache__", "_build"} & set(path.parts)]
    return [path for path in (*found, *ROOT.glob("*")) if path.is_file() and path.suffix in KINDS]


def test_nothing_tells_a_user_to_install_optmap_from_the_public_index() -> None:
    several = files()
    assert ROOT / "README.md" in several
    assert len(several) > 500
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in several
        if path != Path(__file__)  # it has examples
        for line in path.read_text(encoding="utf-8").splitlines()
        if FROM_THE_INDEX.search(line)
    ]
    assert not found


@pytest.mark.parametrize("text", ["pip install optmap", "pip install 'optmap[plot]'", 'pip install -U "optmap"'])
def test_the_search_finds_what_it_looks_for(text: str) -> None:
    assert FROM_THE_INDEX.search(f"first run: {text} and so on")
    assert not FROM_THE_INDEX.search(
        "pip install 'matplotlib>=3.9' (or, in a checkout of optmap: pip install '.[plot]')"
    )


@pytest.mark.parametrize(
    ("packages", "extra"),
    [
        (("matplotlib",), "plot"),
        (("pandas", "pyarrow"), "sweep"),
        (("distributed",), "dask"),
        (("plotly",), "html"),
        (("onnx",), "onnx"),
        (("bayesian-optimization",), "bayes"),
        (("SALib",), "bayes"),
        (("torch",), "bench"),
        (("onednn-cpu-gomp", "onednn-devel-cpu-gomp"), "onednn"),
    ],
)
def test_the_command_names_the_package_in_the_versions_of_the_metadata(packages: tuple[str, ...], extra: str) -> None:
    said = install(*packages)
    for name in packages:
        accepted = re.search(rf"[' ]{name}([<>=!~][^' ]+)", said)
        assert accepted is not None, said
        mine = [text for text in metadata.requires("optmap") or () if text.lower().startswith(name.lower())]
        assert any(
            set(accepted[1].split(",")) == set(re.findall(r"[<>=!~]+[\w.]+", text.partition(";")[0])) for text in mine
        )
    assert said.endswith(f"(or, in a checkout of optmap: pip install '.[{extra}]')")


def test_without_metadata_the_package_alone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", missing)
    assert install("matplotlib") == "pip install matplotlib"


def test_a_picture_without_matplotlib_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    result = optmap.solve("C[i,j] += A[i,k]*B[k,j]", extents="i=4,j=4,k=4", memory="16w")
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"matplotlib, which is not installed; run: pip install 'matplotlib[<>=]"):
        result.plot()
