"""Pure data: workloads, machines, mappings, and how they are written down."""

from __future__ import annotations

from optmap.lazy import exports
from optmap.problem.access import Axis as Axis
from optmap.problem.access import TensorAccess as TensorAccess
from optmap.problem.amounts import Bandwidth as Bandwidth
from optmap.problem.amounts import Capacity as Capacity
from optmap.problem.builders import contraction as contraction
from optmap.problem.builders import conv1d as conv1d
from optmap.problem.builders import conv2d as conv2d
from optmap.problem.builders import matmul as matmul
from optmap.problem.builders import mmc as mmc
from optmap.problem.builders import mttkrp as mttkrp
from optmap.problem.builders import sddmm as sddmm
from optmap.problem.builders import tcl as tcl
from optmap.problem.builders import ttmc as ttmc
from optmap.problem.constraint_texts import constraints_of as constraints_of
from optmap.problem.constraint_texts import parse_constraint as parse_constraint
from optmap.problem.constraints import Constraints as Constraints
from optmap.problem.constraints import KeepConstraint as KeepConstraint
from optmap.problem.constraints import OrderConstraint as OrderConstraint
from optmap.problem.constraints import SplitConstraint as SplitConstraint
from optmap.problem.constraints import TileConstraint as TileConstraint
from optmap.problem.core import Microkernel as Microkernel
from optmap.problem.kernel_roles import kernel_roles as kernel_roles
from optmap.problem.library import list_machines as list_machines
from optmap.problem.library import list_workloads as list_workloads
from optmap.problem.library import machine_note as machine_note
from optmap.problem.library import match_workloads as match_workloads
from optmap.problem.library import models_path as models_path
from optmap.problem.library import solvers_config_path as solvers_config_path
from optmap.problem.library import workload_note as workload_note
from optmap.problem.machine import CapacityRule as CapacityRule
from optmap.problem.machine import Level as Level
from optmap.problem.machine import LevelKind as LevelKind
from optmap.problem.machine import Machine as Machine
from optmap.problem.machine import Partition as Partition
from optmap.problem.machine import two_level as two_level
from optmap.problem.mapping import LevelMapping as LevelMapping
from optmap.problem.mapping import Mapping as Mapping
from optmap.problem.objective import MERITS as MERITS
from optmap.problem.objective import OBJECTIVES as OBJECTIVES
from optmap.problem.objective import Combination as Combination
from optmap.problem.objective import Objective as Objective
from optmap.problem.objective import Quantity as Quantity
from optmap.problem.objective import Term as Term
from optmap.problem.objective import register_objective as register_objective
from optmap.problem.options import IntegerRule as IntegerRule
from optmap.problem.options import TileRule as TileRule
from optmap.problem.parser import parse_extents as parse_extents
from optmap.problem.parser import parse_workload as parse_workload
from optmap.problem.reuse import Reuse as Reuse
from optmap.problem.reuse import dataflow as dataflow
from optmap.problem.reuse import reuse as reuse
from optmap.problem.sizes import parse_bandwidth as parse_bandwidth
from optmap.problem.sizes import parse_capacity as parse_capacity
from optmap.problem.workload import Padding as Padding
from optmap.problem.workload import Semantics as Semantics
from optmap.problem.workload import Workload as Workload

__getattr__, __dir__ = exports(
    __name__,
    {
        "amounts": "ONE_WORD",
        "core": "Core",
        "memory_orders": "activation_orders",
        "axes": "axis_groups group_dims moving overlaps touched_at_least",
        "builders": "BUILDERS",
        "canonical": "canonical_form in_common_order",
        "code_options": "ActivationLayout CodeOptions StoreKind WeightPacking",
        "constraints": "NO_CONSTRAINTS",
        "relations": "follows",
        "cutting": "Descent",
        "depthwise_blocks": "DepthwiseBlock depthwise_block lines_per_set",
        "forms": "contraction_form convolution_form why_no_convolution",
        "halo": "distinct_values grid_values pair_values run_values shared_values value_mask",
        "held": "Corner Held corner_dims moves_alone stream_refusal",
        "inputs": "capacities_of capacity_of extents_of is_statement machine_of names_of workload_of",
        "io.fields": "Fields located",
        "io.files": "load_yaml",
        "io.machines": "LEVEL_FIELDS machine_document machine_from",
        "io.mappings": "mapping_document read_mapping",
        "io.workloads": "WORKLOAD_FIELDS read_workload read_workloads workload_document workload_from",
        "library": "list_networks",
        "kernel_roles": (
            "KernelKind KernelRoles RegisterShape is_one_wide kernel_parts outer_product_dims register_shape taken_dims"
        ),
        "microkernel": "microkernel_permutation microkernel_tile",
        "network": "Network",
        "objective": "LOADS SUM TIME alike",
        "padding": "real_operations real_values",
        "partitions": "capacity_groups",
        "policy": "Footprint Policy Retention Target",
        "pieces": "Piece check_pieces of_document piece_dims piece_of run_document tile_text",
        "reuse": "Room reuse_at rooms_at safe_working_set",
        "sizes": "capacities element_bits parse_clock",
        "workload": "access_names",
        "chain": "TensorRole",
        "expression": "Apply Constant Expression Read Series Statistic",
        "domain": "Comparator Condition",
        "statement": "Statement Update multiply",
    },
)
