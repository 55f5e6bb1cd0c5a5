"""Settings of Sphinx; `docs/build.py` prepares the pages and calls it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

project = "optmap"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "making.docstrings",
]
exclude_patterns = ["making", "papers/*/**"]
html_theme = "furo"
html_title = "optmap"
html_show_sourcelink = False
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).resolve().parent / "_static" / "scorer.js")
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure"]  # statements and formats have no lexer
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!optmap\.[A-Za-z_]+$).*")]  # types of annotations that are in no page
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
python_maximum_signature_line_length = 100
