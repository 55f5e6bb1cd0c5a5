"""A second reading of what mapping trees mean: words with values in places with names, one move after the other.

A word's value is the number of updates that are in it. A place refuses words that it has no room for; a word that is
read has to have all its updates, one that is updated all so far; at the end every word of an output is in the memory
with all of them. Decisions are made as the run goes, from what is still to be done: nothing is planned ahead. Along
axes of a mesh it does not run.
"""

from __future__ import annotations

import itertools
from collections import Counter

from optmap.mappings.nodes import Box, Compute, Keep, Loop, Sequence
from optmap.mappings.tree import MappingTree
from optmap.workloads.row_statistics import row_statistics


class RefusedError(Exception):
    """A tree that does not work, with the kind of reason."""


def value_of(axis, point):
    return axis.offset + sum(c * point[d] for d, c in axis.terms)


def meets(condition, point):
    left, right = value_of(condition.left, point), value_of(condition.right, point)
    return {
        "<=": left <= right,
        "<": left < right,
        ">=": left >= right,
        ">": left > right,
        "==": left == right,
    }[condition.relation.value]


class Job:
    """The operations of a statement that are not done, each with the words that it touches."""

    def __init__(self, workload, statement, statistics):
        self.name = statement.name
        self.rows = {each.name for each in statistics if each.made_by == statement.name}
        self.dims = statement.dims
        self.left = {}
        stored = workload.stored_as
        for values in itertools.product(*(range(workload.extents[d]) for d in self.dims)):
            point = dict(zip(self.dims, values, strict=True))
            words = [
                (access.name, stored[access.name], tuple(value_of(axis, point) for axis in access.axes))
                for access in statement.accesses
            ]
            for each in statistics:
                mine = (each.access,) if each.made_by == statement.name else each.reads.get(statement.name, ())
                words += [(each.name, each.name, tuple(value_of(axis, point) for axis in a.axes)) for a in mine]
            axes = [axis for access in statement.accesses for axis in access.axes if axis.real is not None]
            real = all(axis.real[0] <= value_of(axis, point) <= axis.real[1] for axis in axes)
            if real and all(meets(each, point) for each in statement.domain):
                self.left[values] = words


class Run:
    """One run of a tree."""

    def __init__(self, tree: MappingTree):
        self.tree = tree
        workload = tree.workload
        statistics = row_statistics(workload)
        self.jobs = {each.name: Job(workload, each, statistics) for each in workload.statements}
        self.rows = {each.name: each for each in statistics}
        self.levels = [level.name for level in tree.machine.levels]
        self.memory = tree.machine.memory
        self.role = {name: role.value for name, role in workload.roles.items()}
        self.role |= dict.fromkeys(self.rows, "intermediate")
        self.stored = workload.stored_as | {name: name for name in self.rows}
        made = {
            w[::2]
            for job in self.jobs.values()
            for words in job.left.values()
            for w in words
            if w is words[0] or w[0] in job.rows
        }
        for (
            job
        ) in self.jobs.values():  # an element that no statement writes is none, though it may be a word of another
            for words in job.left.values():
                words[:] = [w for w in words if w[0] not in {*self.jobs, *self.rows} or w[::2] in made]
        self.writes = Counter(
            w[1:]
            for job in self.jobs.values()
            for words in job.left.values()
            for w in words
            if w is words[0] or w[0] in job.rows
        )
        self.uses = Counter(
            word for job in self.jobs.values() for words in job.left.values() for word in {w[1:] for w in words}
        )
        self.so_far = Counter()
        self.needed_values = self._needed_values()
        begun = workload.semantics.value == "accumulate"
        self.outside = {
            w: 0 for w in self.uses if self.role[w[0]] == "input" or (begun and self.role[w[0]] == "output")
        }
        self.traffic = Counter()
        self.places = {}
        self.most = Counter()

    def _needed_values(self):
        """Per name and word the updates that are in it when the tensor of that name is complete."""
        found = Counter()
        chain = {}
        for job in self.jobs.values():
            for words in job.left.values():
                found[words[0][0], words[0][2]] += 1
            chain[job.name] = job
        total = Counter()
        before = {}
        for statement in self.tree.workload.statements:
            source = next(
                (
                    a.name
                    for a in statement.inputs
                    if a.name in self.jobs and self.stored[a.name] == self.stored[statement.name]
                ),
                None,
            )
            before[statement.name] = source
            for (name, place), count in found.items():
                if name == statement.name:
                    total[name, place] = count + (total[source, place] if source else 0)
        return total

    def start(self):
        whole = {d: tuple(range(n)) for d, n in self.tree.workload.sizes}
        self._list(self.tree.nodes, whole, [], {})
        if any(job.left for job in self.jobs.values()):
            raise RefusedError("not done")
        for word, count in self.writes.items():
            if self.role[word[0]] == "output" and self.outside.get(word) != count:
                raise AssertionError(f"{word} is not in the memory at the end")
        return self

    def _below(self, nodes, ranges, cut):
        """(leaf, operations) of every leaf below, in an iteration, later ones first: is left of them."""
        found = []
        for node in reversed(nodes):
            if isinstance(node, Sequence):
                for branch in reversed(node.branches):
                    found += self._branch(branch, ranges, cut, found)
            elif isinstance(node, Compute):
                found += self._branch((node,), ranges, cut, found)
        return found

    def _branch(self, nodes, ranges, cut, later):
        inside, foreign = dict(ranges), []
        for number, node in enumerate(nodes):
            if isinstance(node, Box):
                inside = {d: tuple(i for i in r if i in node.ranges.get(d, r)) for d, r in inside.items()}
            elif isinstance(node, Loop):
                foreign.append(node)
            elif isinstance(node, Sequence):
                found = []
                for branch in reversed(node.branches):
                    found += self._branch((*nodes[:number], *branch), ranges, cut, [*later, *found])
                return found
            elif isinstance(node, Compute):
                return [(node, self._operations(node, inside, cut, later))]
        raise AssertionError

    def _operations(self, leaf, ranges, cut, later):
        job = self.jobs[leaf.statement]
        mine = [p for p in job.left if all(i in ranges[d] for d, i in zip(job.dims, p, strict=True))]
        _, readers = self._slicer(leaf)
        if not readers:
            return mine
        if id(leaf) in cut:
            wanted = cut[id(leaf)]
        else:
            wanted = {
                words[2]
                for node, points in later
                if any(node is each for each in readers)
                for point in points
                for words in self.jobs[node.statement].left[point]
                if words[0] == leaf.statement
            }
        return [p for p in mine if job.left[p][0][2] in wanted]

    def _slicer(self, leaf):
        """The innermost loop over a dim that a leaf's statement has not, and later leaves inside it that read it."""
        path = list(find(self.tree.nodes, leaf))
        dims = self.jobs[leaf.statement].dims
        loops = [node for node in path if isinstance(node, Loop) and node.dim not in dims]
        if not loops:
            return None, []
        everyone = list(all_leaves(self.tree.nodes))
        after = everyone[next(i for i, each in enumerate(everyone) if each is leaf) + 1 :]
        reads = {s.name for s in self.tree.workload.statements if any(a.name == leaf.statement for a in s.inputs)}
        inside = [
            each
            for each in after
            if each.statement in reads and any(node is loops[-1] for node in find(self.tree.nodes, each))
        ]
        return loops[-1], inside

    def _list(self, nodes, ranges, outer, cut):
        """Run a list of nodes: all iterations of its loops, with what its Keeps hold from one to the next."""
        *above, last = nodes
        loops = [number for number, node in enumerate(above) if isinstance(node, Loop)]
        before = None
        for trips, states in self._iterations(nodes, 0, ranges, cut):
            inside, now = states[-1]
            if not any(points for _, points in self._below((last,), inside, now)):
                continue
            wants = {}
            for number, node in enumerate(above):
                if isinstance(node, Keep):
                    mine = trips[: sum(1 for loop in loops if loop < number)]
                    if before is None or before[: len(mine)] != mine:
                        around = [*self._held(outer, {}), *self._held(above[:number], wants)]
                        wants[number] = self._want(nodes[number:], states[number], around, before is None)
            keeps = [(number, node) for number, node in enumerate(above) if isinstance(node, Keep)]
            for number, node in reversed(keeps):
                if number in wants:
                    self._release(node, self.places.get(id(node), {}).keys() - wants[number], [*outer, *above[:number]])
            for number, node in keeps:
                if number in wants:
                    self._fill(node, wants[number], [*outer, *above[:number]])
            active = [*outer, *above]
            if isinstance(last, Sequence):
                for branch in last.branches:
                    self._list(branch, inside, active, now)
            else:
                self._execute(last, inside, now, active)
            before = trips
        for number, node in reversed(list(enumerate(above))):
            if isinstance(node, Keep) and before is not None:
                self._release(node, set(self.places[id(node)]), [*outer, *above[:number]])

    def _iterations(self, nodes, number, ranges, cut, trips=()):
        """All iterations of the loops of a list, with the ranges and demands that each of its nodes is met with."""
        if number == len(nodes) - 1:
            yield trips, [(ranges, cut)]
            return
        node = nodes[number]
        if isinstance(node, Loop):
            left = ranges[node.dim]
            begin = node.first or node.tile
            steps = [left[:begin], *(left[n : n + node.tile] for n in range(begin, len(left), node.tile))]
            for trip, step in enumerate(steps):
                inside = {**ranges, node.dim: step}
                now = dict(cut)
                tail = nodes[number + 1 :]
                leaves = [leaf for leaf in all_leaves(tail) if self._slicer(leaf)[0] is node]
                for leaf in leaves:
                    now.pop(id(leaf), None)
                planned = self._branch(tail, inside, now, [])
                for leaf in leaves:
                    points = next(points for each, points in planned if each is leaf)
                    now[id(leaf)] = {self.jobs[leaf.statement].left[p][0][2] for p in points}
                for more, states in self._iterations(nodes, number + 1, inside, now, (*trips, trip)):
                    yield more, [(ranges, cut), *states]
        else:
            inside = ranges
            if isinstance(node, Box):
                inside = {d: tuple(i for i in r if i in node.ranges.get(d, r)) for d, r in ranges.items()}
            for more, states in self._iterations(nodes, number + 1, inside, cut, trips):
                yield more, [(ranges, cut), *states]

    def _held(self, nodes, wants):
        """(Keep, words) of Keeps: what they are to hold, or hold already."""
        return [
            (node, wants[number] if number in wants else self.places[id(node)].keys())
            for number, node in enumerate(nodes)
            if isinstance(node, Keep)
        ]

    def _want(self, nodes, state, around, first):
        """The words that a Keep, the first of some nodes, is to hold in an iteration.

        `state` are ranges and demands, `around` what the Keeps outside it hold; `first` says that it is empty.
        """
        keep, *inside = nodes
        names = {self.stored[name] for name in keep.tensors}
        if keep.level == self.memory:
            names = {name for name in names if self.role[name] == "intermediate"}
        found = set()
        for leaf, points in self._branch(inside, *state, []):
            job = self.jobs[leaf.statement]
            for point in points:
                at = dict(zip(job.dims, point, strict=True))
                if all(d in at and at[d] in r for d, r in keep.of.items()):
                    found |= {w[1:] for w in job.left[point] if w[1] in names}
        found = {w for w in found if not any(each.level == keep.level and w in held for each, held in around)}
        if not first:
            for word, value in self.places[id(keep)].items():
                alive = value is not None or any(word in held for held in self.places.values())
                inner = self.role[word[0]] == "intermediate" and not any(word in held for _, held in around)
                if inner and self.so_far[word] and self.uses[word] and alive:
                    found.add(word)
        return found

    def _source(self, word, keep, outer):
        for each in reversed(outer):
            if isinstance(each, Keep) and each.level != keep.level and word in self.places.get(id(each), {}):
                return each.level, self.places[id(each)]
        return None if self.role[word[0]] == "intermediate" else (self.memory, self.outside)

    def _release(self, keep, words, outer):
        place = self.places.setdefault(id(keep), {})
        for word in words:
            value = place.pop(word)
            to = self._source(word, keep, outer)
            changed = value is not None and value != (to[1].get(word) if to else None)
            if changed and (self.uses[word] or self.role[word[0]] == "output") and to:
                to[1][word] = value
                self.traffic[keep.level, to[0], word[0], "stores"] += 1
            if self.uses[word] and self.so_far[word]:
                copies = [*self.places.values(), self.outside]
                if not any(copy.get(word) == self.so_far[word] for copy in copies):
                    raise RefusedError("lost")

    def _fill(self, keep, words, outer):
        place = self.places.setdefault(id(keep), {})
        for word in words - place.keys():
            source = self._source(word, keep, outer)
            value = source[1].get(word) if source else None
            if value is not None and value == self.so_far[word]:
                self.traffic[keep.level, source[0], word[0], "loads"] += 1
            else:
                value = None
            place[word] = value

    def _execute(self, leaf, ranges, cut, active):
        job = self.jobs[leaf.statement]
        keeps = [each for each in reversed(active) if isinstance(each, Keep)]
        occupied = Counter()
        for each in keeps:
            for word in self.places[id(each)]:
                occupied[each.level] += self._weight(word[0])
        for level, words in occupied.items():
            self.most[level] = max(self.most[level], words)
        for point in self._branch((leaf,), ranges, cut, [])[0][1] if id(leaf) in cut else self._plain(leaf, ranges):
            words = job.left.pop(point)
            for name, *rest in words[1:]:
                word = tuple(rest)
                if name in self.jobs and self.so_far[word] < self.needed_values[name, word[1]]:
                    raise RefusedError("incomplete")
                waits = name in self.rows and name not in job.rows and self.rows[name].waits
                if waits and self.so_far[word] < self.writes[word]:
                    raise RefusedError("incomplete")
                self._at(word, keeps)
            for target in (words[0][1:], *(w[1:] for w in words[1:] if w[0] in job.rows)):
                self._at(target, keeps)
                place = next(self.places[id(each)] for each in keeps if target in self.places[id(each)])
                self.so_far[target] += 1
                place[target] = self.so_far[target]
            self.uses.subtract({w[1:] for w in words})

    def _plain(self, leaf, ranges):
        job = self.jobs[leaf.statement]
        return [p for p in job.left if all(i in ranges[d] for d, i in zip(job.dims, p, strict=True))]

    def _at(self, word, keeps):
        place = next(self.places[id(each)] for each in keeps if word in self.places[id(each)])
        begun = self.so_far[word] or word in self.outside
        if begun and place[word] != self.so_far[word]:
            raise AssertionError(f"{word} is old where it is used")

    def _weight(self, name):
        workload = self.tree.workload
        if name in self.rows:
            return workload.weight(self.rows[name].access)
        return next(workload.weight(a) for a in workload.accesses if self.stored[a.name] == name)

    def words(self):
        """(loads, stores) per (inner level, outer level, tensor) of which something moved."""
        found = {}
        for (inner, outer, name, way), count in self.traffic.items():
            loads, stores = found.get((inner, outer, name), (0, 0))
            more = count * self._weight(name)
            found[inner, outer, name] = (loads + more, stores) if way == "loads" else (loads, stores + more)
        return found


def all_leaves(nodes):
    for node in nodes:
        if isinstance(node, Compute):
            yield node
        elif isinstance(node, Sequence):
            for branch in node.branches:
                yield from all_leaves(branch)


def find(nodes, leaf):
    """The nodes on the path to a leaf; nothing if it is not below."""
    path = []
    for node in nodes:
        path.append(node)
        if node is leaf:
            return path
        if isinstance(node, Sequence):
            for branch in node.branches:
                below = find(branch, leaf)
                if below:
                    return [*path, *below]
    return []
