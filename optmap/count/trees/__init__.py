"""What mapping trees mean: a literal walk, element by element, that shares no code with any closed form."""

from __future__ import annotations

from optmap.count.trees.results import LevelRoom as LevelRoom
from optmap.count.trees.results import TreeCount as TreeCount
from optmap.count.trees.walk import walk_tree as walk_tree
