"""SymPy front end: footprints, dataflow classes with proofs, traffic and capacity expressions.

Only what needs no SymPy is exported here: the search asks for classes without paying for its import.
"""

from optmap.symbolic.classes import Classes as Classes
from optmap.symbolic.classes import DataflowClass as DataflowClass
from optmap.symbolic.classes import dataflow_classes as dataflow_classes
from optmap.symbolic.dominance import Difference as Difference
from optmap.symbolic.dominance import Proof as Proof
