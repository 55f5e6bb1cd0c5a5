"""Mappings as trees: their nodes, what makes them valid, their forms, and how they are written down."""

from __future__ import annotations

from optmap.mapping.documents import read_tree as read_tree
from optmap.mapping.documents import tree_document as tree_document
from optmap.mapping.forms import boxes_of as boxes_of
from optmap.mapping.forms import levels_of as levels_of
from optmap.mapping.forms import path_of as path_of
from optmap.mapping.nodes import Address as Address
from optmap.mapping.nodes import Box as Box
from optmap.mapping.nodes import Compute as Compute
from optmap.mapping.nodes import Keep as Keep
from optmap.mapping.nodes import Leaf as Leaf
from optmap.mapping.nodes import Loop as Loop
from optmap.mapping.nodes import Node as Node
from optmap.mapping.nodes import Sequence as Sequence
from optmap.mapping.nodes import Split as Split
from optmap.mapping.nodes import is_above as is_above
from optmap.mapping.tree import MappingTree as MappingTree
