"""What mapping trees mean: a literal walk, element by element, that shares no code with any closed form."""

from __future__ import annotations

from optmap.evaluate.trees.results import LevelRoom as LevelRoom
from optmap.evaluate.trees.results import TreeCount as TreeCount
from optmap.evaluate.trees.walk import walk_tree as walk_tree
