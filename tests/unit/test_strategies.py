"""The strategies produce what they promise; every other property test rests on them."""

from math import prod

from hypothesis import given
from hypothesis import strategies as st
from strategies import machines, mappings, workloads


@given(workloads(max_extent=5, max_operations=200))
def test_workloads_stay_within_their_limits(workload):
    assert prod(workload.extents.values()) <= 200
    assert max(workload.extents.values()) <= 5


@given(st.data())
def test_mappings_belong_to_their_workload_and_machine(data):
    workload = data.draw(workloads())
    machine = data.draw(machines(max_fanout=4))
    mapping = data.draw(mappings(workload, machine))
    mapping.check(workload, machine)
    assert [level.level for level in mapping.levels] == [level.name for level in machine.levels]
