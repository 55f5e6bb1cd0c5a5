"""Random chains in turn on toy machines with meshes, and what they cost, iteration by iteration with real sets."""

import itertools
import random
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from math import ceil, prod

from spatial_walk import walk_spatial

from optmap.machines.accelerator import KeepRule, Mesh, MeshAxis, Ports, Prices, Store
from optmap.machines.fabric import fabric_of
from optmap.machines.given import with_given
from optmap.machines.machine import Level, Machine
from optmap.mappings.nest import MemoryNest, Nest, mapping_of
from optmap.mappings.nodes import Compute, Keep, Loop, Sequence
from optmap.mappings.parts import branch_of
from optmap.mappings.tree import MappingTree
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload
from optmap.workloads.single import touched_alone
from optmap.workloads.workload import Semantics

CHAINS = {
    "attention": ("S[h,m,l] = Q[h,m,d] * K[h,l,d]; O[h,m,e] = S[h,m,l] * V[h,l,e]", ("h", "m", "l")),
    "product": ("S[m,l] = A[m,k] * B[k,l]; C[m,n] = S[m,l] * D[l,n]", ("m", "l")),
    "window": ("S[c,y] = I[c,y+r] * F[c,r]; O[k,y] = S[c,y] * G[k,c]", ("c", "y")),
    "shared": ("S[m,l] = A[m,k] * B[k,l]; C[m,l] = S[m,l] * A[m,k]", ("m", "l")),
    "rows": ("S[m,l] = A[m,k] * B[k,l]; P[m,l] = softmax(S[m,l], l); C[m,n] = P[m,l] * D[l,n]", ("m",)),
    "gain": ("S[m,l] = rmsnorm(X[m,l], l) * G[l]; C[m,n] = S[m,l] * D[l,n]", ("m",)),
    "masked": ("S[m,l] = A[m,k] * B[k,l] if l <= m; C[m,n] = S[m,l] * D[l,n] if l <= m", ("m", "l")),
    "square": ("S[m,l] = A[m,k] * A[l,k]; C[m,n] = S[m,l] * D[l,n]", ("m", "l")),
}
ROWS = {"rows": "P", "gain": "S"}
"""Statements with a function of rows."""
APART = {"window": {"I"}, "square": {"A"}}
"""Tensors that do not stay: of two kinds of subscripts, or with windows."""
FREE = {"inputs": KeepRule.FREE, "output": KeepRule.FREE}
NAMES = ("Reg", "Buf", "Memory")


def store(*, mesh=(1, 1), prices=(1, 2, 3), ports=None, keeps=(), block=1):
    x, y = mesh
    return Store(
        keeps=tuple(keeps),
        energy_pj=Prices(read=prices[0], fill=prices[1], update=prices[2]),
        ports=ports or Ports(),
        mesh=Mesh(x=MeshAxis(size=x), y=MeshAxis(size=y)),
        block=block,
    )


def toy_machine(rng, room=10**6):
    free = tuple(FREE.items())
    return Machine(
        name="toy",
        memory="Memory",
        levels=(
            Level(name="Reg", capacity=Capacity(amount=10**6, unit="words"), store=store(keeps=free, prices=(1, 2, 1))),
            Level(
                name="Buf",
                capacity=Capacity(amount=room, unit="words"),
                store=store(
                    mesh=(2, 2), keeps=free, prices=(5, 7, 6), block=rng.choice((1, 4)), ports=Ports(read=3, write=2)
                ),
            ),
        ),
        outermost=store(prices=(100, 90, 80), ports=Ports(read=2, write=1), block=rng.choice((1, 8))),
    )


def chain_of(name, extents):
    text, _ = CHAINS[name]
    return parse_workload(text, extents, semantics=Semantics.ASSIGN)


def dims_named(text):
    """The dims of a chain in short notation: letters in brackets."""
    return sorted({c for part in text.split("[")[1:] for c in part.split("]")[0] if c.islower()})


def divided(rng, size, parts):
    """A size as a product of so many factors."""
    found = [1] * parts
    for prime in primes(size):
        found[rng.randrange(parts)] *= prime
    return found


def primes(size):
    found, prime = [], 2
    while size > 1:
        while size % prime == 0:
            found.append(prime)
            size //= prime
        prime += 1
    return found


def random_nest(rng, fabric, given):
    """Any nest of a statement: its factors over registers, mesh, buffer and memory, loops in any order."""
    dims = range(len(fabric.dims))
    parts = [divided(rng, size, 5) for size in fabric.extents]
    x, y = ([1] * len(dims) for _ in range(2))
    for axis, place in ((x, 1), (y, 2)):
        for dim in dims:
            if parts[dim][place] == 2 and prod(axis) == 1:
                axis[dim] = 2
            else:
                parts[dim][0] *= parts[dim][place]
    memories = []
    for number in range(3):
        trips = [(dim, parts[dim][(0, 3, 4)[number]]) for dim in dims]
        loops = [(dim, n) for dim, n in trips if n > 1]
        rng.shuffle(loops)
        keeps = []
        for place in dims_of(fabric):
            home = place in given
            keeps.append(home if number == 1 else not home if number == 2 else rng.random() < 0.7)
            if number == 1 and not home:
                keeps[-1] = rng.random() < 0.6
            names = [operand.name.partition("#")[0] for operand in fabric.operands]
            keeps[-1] = keeps[names.index(names[place])]  # of both reads, or of none
        ones = (1,) * len(dims)
        memories.append(
            MemoryNest(
                x=tuple(x) if number == 1 else ones,
                y=tuple(y) if number == 1 else ones,
                temporal=tuple(loops),
                keeps=tuple(keeps),
            )
        )
    return Nest(memories=tuple(memories))


def dims_of(fabric):
    return range(len(fabric.operands))


class Case:
    """A chain, a machine, blocks, what stays, a nest per statement, and the tree of all that."""

    def __init__(self, seed):
        rng = random.Random(seed)
        self.name = rng.choice(list(CHAINS))
        text, common = CHAINS[self.name]
        dims = dims_named(text)
        self.extents = {d: rng.choice((1, 2, 2, 4, 3)) for d in dims}
        self.chain, self.machine = chain_of(self.name, self.extents), toy_machine(rng)
        order = rng.sample(common, len(common))
        self.loops = [
            (d, rng.choice([t for t in range(1, self.extents[d] + 1) if self.extents[d] % t == 0])) for d in order
        ]
        self.loops = self.loops[: rng.randint(0, len(self.loops))]
        self.on_chip = rng.random() < 0.8
        depth = rng.choice([*range(len(self.loops) + 1), len(self.loops)])
        self.stays = {"S": depth} if self.on_chip else {}
        self.named = rng.random() < 0.3 and self.name not in ROWS
        if self.named:  # S is an output that is read as well
            self.chain = replace(self.chain, outputs=("S",))
        self.memory_home = not self.on_chip and not self.named
        apart = APART.get(self.name, set())
        for tensor in rng.sample(["A", "B", "C", "D", "Q", "K", "V", "O", "G", "F", "X"], 5):
            if tensor in {a.name for a in self.chain.accesses} - apart and rng.random() < 0.5:
                self.stays[tensor] = rng.randint(0, len(self.loops))
        self.left = {**self.extents, **dict(self.loops)}
        self.parts = []
        stored = self.chain.stored_as
        held = {stored[tensor] for tensor in self.stays}
        for each in self.chain.statements:
            alone = touched_alone(self.chain, each.name, self.left)
            given = {a.name: "Buf" for a in alone.tensors if stored[a.name] in held}
            machine = with_given(self.machine, alone, given)
            fabric = fabric_of(alone, self.machine)
            places = {n for n, a in enumerate(alone.tensors) if a.name in given}
            nest = None if each.row else random_nest(rng, fabric, places)
            self.parts.append((each, alone, given, machine, fabric, nest))
        self.tree = self._tree()

    def _tree(self):
        branches = [
            branch_of(mapping_of(nest, fabric), alone, machine, tuple(given))
            if nest
            else (Compute(statement=each.name),)
            for each, alone, given, machine, fabric, nest in self.parts
        ]
        nodes = [Keep(level="Memory", tensors=("S",))] if self.memory_home else []
        for depth in range(len(self.loops) + 1):
            nodes += [Loop(dim=self.loops[depth - 1][0], tile=self.loops[depth - 1][1])] if depth else []
            nodes += [Keep(level="Buf", tensors=(t,)) for t, around in self.stays.items() if around == depth]
        return MappingTree(
            workload=self.chain, machine=self.machine, nodes=(*nodes, Sequence(branches=tuple(branches)))
        )


def literal(case):
    """Words per (memory, tensor) and kind, energy and cycles, iteration by iteration: real sets of what stays."""
    words, energy, cycles = defaultdict(Counter), Fraction(0), 0
    stored = case.chain.stored_as
    access = {a.name: a for each in reversed(case.chain.statements) for a in each.accesses}
    outputs = {each.name for each in case.chain.statements}
    content, seen, reached = {}, defaultdict(set), defaultdict(set)
    ranges = [range(0, case.extents[d], tile) for d, tile in _grids(case)]

    def pay(memory, tensor, fabric, counts, used):
        nonlocal energy
        words[memory, stored[tensor]].update(dict(zip(("reads", "fills", "updates"), counts, strict=True)))
        own = fabric.memories[NAMES.index(memory)]
        prices = (own.prices.read, own.prices.fill, own.prices.update)
        for count, price in zip(counts, prices, strict=True):
            energy += used * ceil(Fraction(count, used * own.block)) * Fraction(price)

    def ports(fabric, memory, reads, writes, used):
        own = fabric.memories[NAMES.index(memory)]
        rates = ((reads, own.read_rate), (writes, own.write_rate))
        return max([ceil(Fraction(n, used) / rate) for n, rate in rates if rate is not None], default=0)

    def move(tensor, count, *, load):
        nonlocal cycles
        *_, fabric, _ = next(p for p in case.parts if tensor in {a.name for a in p[1].tensors})
        pay("Memory", tensor, fabric, (count, 0, 0) if load else (0, 0, count), 1)
        busy = ports(fabric, "Memory", count * load, count * (not load), 1)
        if load:
            pay("Buf", tensor, fabric, (0, count, 0), 1)
            busy = max(busy, ports(fabric, "Buf", 0, count, 1))
        cycles += busy

    for begins in itertools.product(*ranges):
        box = dict(zip([d for d, _ in case.loops], begins, strict=True))
        for tensor, around in case.stays.items():
            if tensor == "S" and not case.named:
                continue
            cut = dict(case.loops[:around])
            here = {d: (box[d], cut[d]) if d in cut else (0, case.extents[d]) for d in access[tensor].dims}
            now = frozenset(_elements(access[tensor], here))
            if content.get(tensor) == now:
                continue
            if tensor in outputs and tensor in content:
                move(tensor, len(content[tensor]), load=False)
            content[tensor] = now
            old = now & seen[tensor] if tensor in outputs else now
            if old:
                assert old == now
                move(tensor, len(now), load=True)
            seen[tensor] |= now
        for each, alone, given, _, fabric, nest in case.parts:
            if nest is None:
                for passed in row_passes(case, each, given):
                    busy = defaultdict(lambda: [0, 0])
                    for (memory, tensor), (reads, updates) in passed.items():
                        pay(memory, tensor, fabric, (reads, 0, updates), 1)
                        busy[memory][0] += reads
                        busy[memory][1] += updates
                    cycles += max(ports(fabric, memory, *both, 1) for memory, both in busy.items())
                continue
            result = {d: (box.get(d, 0), case.left[d]) for d in each.output.dims}
            mine = frozenset(_elements(each.output, result))
            before = mine & reached[each.name]
            assert before in (frozenset(), mine)
            reached[each.name] |= mine
            found = walk_spatial(nest, fabric, going_on=bool(before))
            busy = alone.operations // nest.instances(0)
            sums = defaultdict(lambda: [0, 0])
            for (memory, operand), walked in found.items():
                used = nest.instances(NAMES.index(memory))
                counts = (walked.reads, walked.fills, walked.updates)
                pay(memory, operand.partition("#")[0], fabric, counts, used)
                sums[memory][0] += walked.reads
                sums[memory][1] += walked.fills + walked.updates
            slowest = [ports(fabric, m, r, w, nest.instances(NAMES.index(m))) for m, (r, w) in sums.items()]
            cycles += max(busy, *slowest)
            energy += alone.operations * fabric.arithmetic_pj
    for tensor, last in content.items():
        if tensor in outputs:
            move(tensor, len(last), load=False)
    return {key: dict(found) for key, found in words.items()}, energy, cycles


def row_passes(case, statement, given):
    """(reads, updates) per memory and tensor of both passes of a function of rows, point by point."""
    passes = defaultdict(lambda: [0, 0]), defaultdict(lambda: [0, 0])
    of_rows = {"rows": {"S"}, "gain": {"X"}}[case.name]
    for _ in itertools.product(*(range(case.left[d]) for d in statement.dims)):
        for access in statement.inputs:
            where = given.get(access.name, "Memory"), access.name
            if access.name in of_rows:
                passes[0][where][0] += 1
            passes[1][where][0] += 1
        passes[1][given.get(statement.name, "Memory"), statement.name][1] += 1
    return passes


def _grids(case):
    return list(case.loops)


def _elements(access, box):
    names = sorted(box)
    for point in itertools.product(*(range(box[d][0], box[d][0] + box[d][1]) for d in names)):
        where = dict(zip(names, point, strict=True))
        yield tuple(sum(c * where[d] for d, c in axis.terms) + axis.offset for axis in access.axes)
