"""Blocks of pages: which are run, what of an output is compared, and how one that is stale is rewritten."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "docs"))

from making.blocks import blocks, masked, matches, renewed, run_page, shows_output, updated, with_outputs  # noqa: E402

PAGE = """\
# A page

```sh
echo one; echo two
```

```text
one
two
```

```yaml file=mine.yaml
a: 1
```

Words between.

```sh exit=3
cat mine.yaml; exit 3
```

```text
a: 2
```

```sh shown
exit 1
```

```python
print("from Python")
```
"""


def test_blocks_have_words_and_places() -> None:
    found = list(blocks(PAGE))
    assert [each.language for each in found] == ["sh", "text", "yaml", "sh", "text", "sh", "python"]
    assert [each.runs for each in found] == [True, False, False, True, False, False, True]
    assert found[2].file == "mine.yaml"
    assert found[3].code_expected == 3
    assert all(PAGE[each.span[0] : each.span[1]] == each.code for each in found)
    assert PAGE.splitlines()[found[3].line - 1] == "```sh exit=3"


def test_an_output_belongs_to_the_block_right_before_it() -> None:
    pairs = [(block.language, shown is not None) for block, shown in with_outputs(PAGE)]
    assert pairs == [("sh", True), ("yaml", False), ("sh", True), ("sh", False), ("python", False)]
    assert shows_output(PAGE)
    assert not shows_output("```sh\necho\n```\n\nWords.\n\n```text\nno output\n```\n")
    assert shows_output("```sh\ndraw\n```\n\n![it](drawn.png)\n")


def test_a_page_is_run_and_only_what_is_stale_is_rewritten(tmp_path: Path) -> None:
    ran = list(run_page(PAGE, tmp_path, os.environ, sys.executable))
    assert [each.said for each in ran] == ["one\ntwo\n", "a: 1\n", "from Python\n"]
    assert [each.stale for each in ran] == [False, True, False]
    assert all(each.ended_well for each in ran)
    after = updated(PAGE, ran)
    assert after == PAGE.replace("a: 2", "a: 1")
    assert not any(each.stale for each in run_page(after, tmp_path, os.environ, sys.executable))


def test_another_exit_code_is_no_good_end_and_rewrites_nothing(tmp_path: Path) -> None:
    page = "```sh\necho half; exit 2\n```\n\n```text\n```\n"
    ran = list(run_page(page, tmp_path, os.environ, sys.executable))
    assert not ran[0].ended_well
    assert updated(page, ran) == page


@pytest.mark.parametrize(
    ("shown", "said", "same"),
    [
        ("a\n[...]\nz\n", "a\nb\nc\nz\n", True),
        ("a\n[...]\nz\n", "a\nz\n", True),
        ("a\n[...]\nz\n", "a\nb\n", False),
        ("[...]\nz\n", "a\nz\n", True),
        ("a [...] s\n", "a 3.1 s\n", True),
        ("a [...] s\n", "a 3.1\nb s\n", False),
        ("a.c\n", "abc\n", False),
        ("", "a\n", False),
    ],
)
def test_what_is_left_out_may_be_anything(shown: str, said: str, same: bool) -> None:
    assert matches(shown, said) is same


def test_times_are_masked_and_sizes_are_not() -> None:
    said = (
        "extents  r=3 s=3\nextents r=3, s=3\nin 0.61 s (12.5 per second)\ntime           0.6 s\n1,024 words, 3.5 %  \n"
    )
    assert masked(said) == (
        "extents  r=3 s=3\nextents r=3, s=3\nin [...] s ([...] per second)\ntime           [...]\n1,024 words, 3.5 %\n"
    )


def test_what_was_left_out_is_left_out_again() -> None:
    shown = "head 1\n[...]\ncost  10 words\ngap  3 %\n[...]\n"
    said = "head 1\nmore\ncost  12 words\ngap  4 %\nnote\n"
    assert renewed(shown, said) == "head 1\n[...]\ncost  12 words\ngap  4 %\n[...]\n"
    assert renewed("a\n[...]\nnowhere\n", said) == said
    assert renewed(shown, "head 1\ncost  10 words\ngap  3 %\n") == shown
