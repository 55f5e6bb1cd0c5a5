"""What makes a level of a file a memory of an accelerator: who is kept, prices, ports, fanout, rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import partial
from typing import TypeVar

from optmap.base.errors import InputError
from optmap.files.fields import Fields, describe, located
from optmap.machines.accelerator import Arithmetic, FactorRule, KeepRule, Mesh, MeshAxis, Ports, Prices, Store
from optmap.machines.relations import Relation
from optmap.workloads.sizes import parse_bandwidth

STORE_FIELDS = (
    *("keeps", "energy_pj", "energy_pj_per_bit", "ports", "block", "cluster", "word_bits", "pack"),
    *("fanout", "factors", "order"),
)
"""Keys of the outermost memory; levels of an accelerator have them beside name, capacity and buffering."""
TOP_FIELDS = ("outermost", "arithmetic")
"""Keys that only an accelerator has."""
CACHE_FIELDS = ("bandwidth", "shared", "inclusive", "microkernel", "core_bandwidth")
"""Keys of a level that no accelerator has, with what says the same there."""

_DECIMAL = re.compile(r"[0-9]{1,99}(\.[0-9]{1,99})?([eE][+-]?[0-9]{1,2})?|[0-9]{1,99}/[1-9][0-9]{0,98}")
_FACTOR = re.compile(r"(=|<=|>=)?\s*([0-9]{1,18})")
_MESH_FIELDS = ("x", "y", "multicast", "reduction", "hop_pj", "router_pj")
_Made = TypeVar("_Made")


def has_stores(fields: Fields) -> bool:
    """Whether a machine's file describes an accelerator: it has prices of arithmetic or an outermost store."""
    return any(fields.given(key) for key in TOP_FIELDS)


def refuse_store_fields(level: Fields) -> None:
    """Refuse what only a memory of an accelerator can have.

    Raises:
        InputError: naming the field.
    """
    nested = ("fanout", "energy_pj")
    own = [key for key in STORE_FIELDS if level.given(key) and key not in nested]
    own += [key for key in nested if isinstance(level.values.get(key), Mapping)]
    if own:
        raise InputError(
            f"{level.at(own[0])} is for accelerators; say at the top that the machine is one: "
            "`arithmetic: {energy_pj: 1}`"
        )


def plain(amount: Fraction | float) -> int | float | str:
    """A fraction as JSON without loss: a whole number, a decimal number, or the text p/q."""
    exact = Fraction(amount)
    if exact.denominator == 1:
        return int(exact)
    return float(exact) if Fraction(str(float(exact))) == exact else str(exact)


def exact_number(fields: Fields, key: str, default: Fraction | None = None) -> Fraction:
    """A number as it is written: 0.28 is 28/100; texts such as `1/3` and `0.1` are numbers, too.

    Args:
        fields: of a file or a document.
        key: of the field.
        default: where it is not given; without one it has to be there.

    Raises:
        InputError: naming file and field.
    """
    if default is not None and not fields.given(key):
        return default
    value = fields.get(key)
    if isinstance(value, str) and _DECIMAL.fullmatch(value.strip()):
        return Fraction(value.strip())
    number = fields.number(key)
    if not 0 <= number < float("inf"):
        raise InputError(f"{fields.at(key)} is {describe(value)}; a finite number, 0 or more, is needed")
    return Fraction(value) if isinstance(value, int) else Fraction(str(number))


def leaves_document(outermost: Store, arithmetic: Arithmetic) -> dict[str, object]:
    """The keys of a machine's document that are there where its levels have stores."""
    return {
        "outermost": store_document(outermost),
        "arithmetic": {"energy_pj": plain(arithmetic.energy_pj), "word_bits": arithmetic.word_bits},
    }


def store_document(store: Store) -> dict[str, object]:
    """A store as JSON, complete; what depends on the sizes of elements is there where something does."""
    mesh = store.mesh
    per_bit = store.energy_pj_per_bit
    ports = {
        key: None if rate is None else plain(rate)
        for key, rate in ((key, getattr(store.ports, key)) for key in ("read", "write", "shared"))
    }
    return {
        "keeps": {name: keep.value for name, keep in store.keeps} or None,
        "energy_pj": _prices_document(store.energy_pj),
        **({} if per_bit == Prices() else {"energy_pj_per_bit": _prices_document(per_bit)}),
        "ports": {**ports, **({} if store.ports.unit == "words" else {"unit": store.ports.unit})},
        "block": store.block,
        "cluster": store.cluster,
        "word_bits": store.word_bits,
        **({"pack": True} if store.pack else {}),
        "fanout": {
            "x": _axis_document(mesh.x),
            "y": _axis_document(mesh.y),
            "multicast": mesh.multicast,
            "reduction": mesh.reduction,
            "hop_pj": plain(store.hop_pj),
            "router_pj": plain(store.router_pj),
        },
        "factors": _factors_document(store.factors),
        "order": list(store.order),
    }


def _prices_document(prices: Prices) -> dict[str, object]:
    return {key: plain(getattr(prices, key)) for key in ("read", "fill", "update")}


def _axis_document(axis: MeshAxis) -> dict[str, object]:
    return {
        "size": axis.size,
        "dims": None if axis.dims is None else list(axis.dims),
        "factors": _factors_document(axis.factors),
    }


def _factors_document(rules: Iterable[FactorRule]) -> dict[str, object]:
    """`{filters: 16, channels: ["<=4", ">=2"]}`: an exact factor is a number, several rules of a dim a list."""
    found: dict[str, list[int | str]] = {}
    for rule in rules:
        text = rule.value if rule.relation is Relation.EQUAL else f"{rule.relation}{rule.value}"
        found.setdefault(rule.dim, []).append(text)
    return {dim: texts[0] if len(texts) == 1 else texts for dim, texts in found.items()}


def leaves_from(fields: Fields, clock_hz: int | None = None) -> tuple[Store, Arithmetic]:
    """The outermost store and the arithmetic of a machine's file.

    Args:
        fields: of the machine.
        clock_hz: cycles per second; only ports per second need it.

    Raises:
        InputError: naming file and field.
    """
    outermost, arithmetic = Store(), Arithmetic()
    if fields.given("outermost"):
        inside = fields.fields("outermost")
        inside.allow(*STORE_FIELDS)
        outermost = store_from(inside, clock_hz)
    if fields.given("arithmetic"):
        inside = fields.fields("arithmetic")
        inside.allow("energy_pj", "word_bits")
        arithmetic = Arithmetic(
            energy_pj=exact_number(inside, "energy_pj", Fraction(0)),
            word_bits=inside.integer("word_bits") if inside.given("word_bits") else None,
        )
    return outermost, arithmetic


def store_from(fields: Fields, clock_hz: int | None = None) -> Store:
    """The store of a level, or of the outermost memory.

    Args:
        fields: of the level.
        clock_hz: cycles per second; only ports per second need it.

    Raises:
        InputError: naming file and field of the first thing that is wrong.
    """
    hop, router, mesh = Fraction(0), Fraction(0), Mesh()
    if isinstance(fields.values.get("fanout"), Mapping):
        inside = fields.fields("fanout")
        inside.allow(*_MESH_FIELDS)
        mesh = Mesh(
            x=_axis(inside, "x"),
            y=_axis(inside, "y"),
            multicast=inside.flag("multicast", True),
            reduction=inside.flag("reduction", True),
        )
        hop, router = (exact_number(inside, key, Fraction(0)) for key in ("hop_pj", "router_pj"))
    elif fields.given("fanout"):
        mesh = Mesh(x=MeshAxis(size=fields.integer("fanout")))
    keeps, ports = _keeps(fields), _ports(fields, clock_hz)
    prices, per_bit = _prices(fields, "energy_pj"), _prices(fields, "energy_pj_per_bit")
    factors, order = _factors(fields), fields.texts("order") if fields.given("order") else ()
    return _at(
        fields,
        lambda: Store(
            keeps=keeps,
            energy_pj=prices,
            energy_pj_per_bit=per_bit,
            ports=ports,
            block=fields.integer("block", 1),
            cluster=fields.integer("cluster", 1),
            word_bits=fields.integer("word_bits") if fields.given("word_bits") else None,
            pack=fields.flag("pack", False),
            mesh=mesh,
            factors=factors,
            order=order,
            hop_pj=hop,
            router_pj=router,
        ),
    )


def _keeps(fields: Fields) -> tuple[tuple[str, KeepRule], ...]:
    """`{input: kept, output: free}`, or the list of those that are kept."""
    if not fields.given("keeps"):
        return ()
    if isinstance(fields.get("keeps"), list):
        found = tuple((name, KeepRule.KEPT) for name in fields.texts("keeps"))
    else:
        inside = fields.fields("keeps")
        known = [keep.value for keep in KeepRule]
        found = tuple((name, KeepRule(inside.choice(name, known, ""))) for name in inside.values)
    if not found:
        raise InputError(f"{fields.at('keeps')} is empty; name tensors, or leave it out to keep all of them")
    return found


def _prices(fields: Fields, key: str) -> Prices:
    """`{read: 2.02, fill: 2.02, update: 2.02}`, or a number for all three."""
    if not fields.given(key):
        return Prices()
    if not isinstance(fields.get(key), Mapping):
        price = exact_number(fields, key)
        return _at(fields, lambda: Prices(read=price, fill=price, update=price))
    inside = fields.fields(key)
    inside.allow("read", "fill", "update")
    prices = {key: exact_number(inside, key) for key in inside.values}
    return _at(fields, lambda: Prices(**prices))


def _ports(fields: Fields, clock_hz: int | None) -> Ports:
    """`{read: 16, write: 16, shared: 8}` in words per cycle, or with units; what is left out has no limit.

    Units are those of bandwidths (`16w`, `32B`, `40GB/s`), the same for all ports of a memory. Documents have numbers
    beside the name of their unit.
    """
    if not fields.given("ports"):
        return Ports()
    inside = fields.fields("ports")
    inside.allow("read", "write", "shared", "unit")
    named = inside.choice("unit", ("bytes", "words"), "") if inside.given("unit") else None
    found = {key: _port(inside, key, clock_hz) for key in inside.values if key != "unit" and inside.given(key)}
    units = {unit or named or "words" for _, unit in found.values()}
    if len(units) > 1 or any(unit is not None and named is not None for _, unit in found.values()):
        raise InputError(f"{inside.where}: ports of one memory are all in words, or all in bytes")
    unit = next(iter(units), named or "words")
    rates = {key: rate for key, (rate, _) in found.items()}
    return _at(fields, lambda: Ports(unit=unit, **rates))


def _port(fields: Fields, key: str, clock_hz: int | None) -> tuple[Fraction, str | None]:
    """What passes a port per cycle, and its unit; None where it is not written with it."""
    value = fields.get(key)
    if not isinstance(value, str) or _DECIMAL.fullmatch(value.strip()):
        return exact_number(fields, key), None
    try:
        rate = parse_bandwidth(value, clock_hz)
    except InputError as error:
        raise located(error, fields.at(key)) from error
    return rate.exact, rate.unit


def _axis(fields: Fields, key: str) -> MeshAxis:
    """A number of children, or `{size: 14, dims: [width, filters], factors: {filters: 2}}`."""
    if not fields.given(key):
        return MeshAxis()
    if not isinstance(fields.get(key), Mapping):
        return MeshAxis(size=fields.integer(key))
    inside = fields.fields(key)
    inside.allow("size", "dims", "factors")
    return MeshAxis(
        size=inside.integer("size", 1),
        dims=inside.texts("dims") if inside.given("dims") else None,
        factors=_factors(inside),
    )


def _factors(fields: Fields) -> tuple[FactorRule, ...]:
    """`{filters: 16, channels: "<=4", width: [">=2", "<=7"]}`."""
    if not fields.given("factors"):
        return ()
    inside = fields.fields("factors")
    found = []
    for dim, value in inside.values.items():
        for demand in value if isinstance(value, list) else [value]:
            number = isinstance(demand, int) and not isinstance(demand, bool) and demand >= 0
            parts = _FACTOR.fullmatch(str(demand).strip()) if number or isinstance(demand, str) else None
            if parts is None:
                raise InputError(f"{inside.at(dim)} is {describe(demand)}; write a number, '<=4' or '>=4'")
            relation, trips = Relation(parts[1] or Relation.EQUAL), int(parts[2])
            found.append(_at(inside, partial(FactorRule, dim=dim, relation=relation, value=trips)))
    return tuple(found)


def _at(fields: Fields, make: Callable[[], _Made]) -> _Made:
    """What a constructor makes; what it refuses is refused with file and field."""
    try:
        return make()
    except InputError as error:
        raise located(error, fields.where) from error
