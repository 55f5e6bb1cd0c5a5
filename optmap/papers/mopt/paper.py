"""The items of MOpt, in the order of its pages."""

from __future__ import annotations

from optmap.papers.items import Paper
from optmap.papers.mopt.discussion import DISCUSSION, ROOMS
from optmap.papers.mopt.forms import FORMS
from optmap.papers.mopt.limits import EVICTIONS, RELATED
from optmap.papers.mopt.models import MODELS
from optmap.papers.mopt.regions import REGIONS
from optmap.papers.mopt.results import RESULTS

PAPER = Paper(
    key="mopt",
    title="Analytical Characterization and Design Space Exploration for Optimization of CNNs",
    source="Rui Li, Yufan Xu, Aravind Sukumaran-Rajam, Atanas Rountev and P. Sadayappan, ASPLOS 2021",
    items=(
        *FORMS.items,
        *ROOMS.items,
        *EVICTIONS.items,
        *REGIONS.items,
        *RESULTS.items,
        *RELATED.items,
        *DISCUSSION.items,
        *MODELS.items,
    ),
)
