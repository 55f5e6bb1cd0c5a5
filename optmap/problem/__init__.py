"""Pure data: workloads, machines, mappings, and how they are written down."""

from optmap.problem.dataflow import Reuse as Reuse
from optmap.problem.dataflow import dataflow as dataflow
from optmap.problem.dataflow import reuse as reuse
from optmap.problem.machine import Capacity as Capacity
from optmap.problem.machine import CapacityRule as CapacityRule
from optmap.problem.machine import Level as Level
from optmap.problem.machine import LevelKind as LevelKind
from optmap.problem.machine import Machine as Machine
from optmap.problem.machine import Microkernel as Microkernel
from optmap.problem.machine import two_level as two_level
from optmap.problem.mapping import LevelMapping as LevelMapping
from optmap.problem.mapping import Mapping as Mapping
from optmap.problem.workload import Axis as Axis
from optmap.problem.workload import Semantics as Semantics
from optmap.problem.workload import TensorAccess as TensorAccess
from optmap.problem.workload import Workload as Workload
