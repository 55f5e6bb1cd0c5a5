"""Options are declared once: a toy entry reaches Python, the shell, sweep files, their schema and digests."""

from __future__ import annotations

import inspect
import json
import re
from typing import Annotated, Any, TypedDict, get_type_hints

import pytest
from typer.testing import CliRunner

import optmap
from optmap import api
from optmap.base.errors import InputError
from optmap.cli.app import app
from optmap.cli.options import taking as at_the_shell
from optmap.questions.option import Here, Opt, declared, refuse_elsewhere, taking, values_of
from optmap.search.options import CapacityOption, SharedOptions, SolveOptions, TimeLimitOption
from optmap.sweeps import Options, make_point, read_task, spec_from, task_text
from optmap.sweeps.options import GridOptions, RaceOptions
from optmap.sweeps.spec import SWEEP, SweepOptions
from optmap.verbs import (
    catalogue,
    checking,
    comparing,
    curving,
    deriving,
    emitting,
    exchange,
    exploring,
    measuring,
    modelling,
    running,
    sweeping,
)
from optmap.workloads.parser import parse_workload

PRODUCT = parse_workload("C[i,j] += A[i,k]*B[k,j]", {"i": 12, "j": 8, "k": 6})


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """An option that there was not, declared in one place: the dictionary of `solve` and sweeps."""
    entry = Annotated[int, Opt(help="How patient it is.", default=0, least=0, meshes=False, hashed=False)]
    for options, read in ((SolveOptions, api.SOLVE), (SweepOptions, SWEEP)):
        monkeypatch.setitem(options.__annotations__, "patience", entry)
        declared.cache_clear()
        monkeypatch.setitem(read, "patience", declared(options)["patience"])  # type: ignore[arg-type]
    yield
    monkeypatch.undo()
    declared.cache_clear()


@pytest.mark.usefixtures("patience")
def test_a_toy_reaches_python_the_method_the_shell_sweeps_and_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    real = api.METHODS["mopt"].run
    kind = type(api.METHODS["mopt"])
    monkeypatch.setattr(kind, "run", lambda method, question: asked.append(question) or real(question))

    @taking(SolveOptions)
    def made(workload: Any, **options: Any) -> None:
        pass

    assert inspect.signature(made).parameters["patience"].default == 0
    api.solve(PRODUCT, memory="64w", patience=3)  # type: ignore[call-arg]
    assert asked[-1].others == {"patience": 3}
    with pytest.raises(InputError, match="patience is -1"):
        api.solve(PRODUCT, memory="64w", patience=-1)  # type: ignore[call-arg]

    command = at_the_shell(SolveOptions)(lambda *, workload, **options: options)
    shell = inspect.signature(command).parameters["patience"]
    assert shell.default == 0
    assert shell.annotation.__metadata__[0].default == "--patience"

    document: dict[str, Any] = {
        "workloads": ["C[i,j] += A[i,k]*B[k,j]"],
        "extents": {"i": 12, "j": 8, "k": 6},
        "capacities": {"values": ["64w"]},
        "methods": ["mopt"],
    }
    spec = spec_from({**document, "options": {"patience": 2}})
    assert spec.options.patience == 2
    assert SWEEP["patience"].schema == {
        "type": "integer",
        "minimum": 0,
        "default": 0,
        "description": "How patient it is.",
    }
    machine = optmap.machine("balanced")
    points = [
        make_point(PRODUCT, machine, level="L1", method="mopt", options=options, seed=0)
        for options in (Options(), Options(patience=0), Options(patience=2))  # type: ignore[call-arg]
    ]
    assert points[0].input_hash == points[1].input_hash != points[2].input_hash
    assert read_task(task_text(points[2])).options.patience == 2


def test_python_shell_and_sweeps_have_the_same_options() -> None:
    python = inspect.signature(optmap.solve).parameters
    assert set(python) == {"workload", *declared(SolveOptions)}
    for name, option in declared(SharedOptions).items():
        assert python[name].default == option.opt.default == SWEEP[name].opt.default
        assert option.opt.help.split()[0] in str(optmap.solve.__doc__)
    assert {"return", "workload", "options"} == set(get_type_hints(optmap.solve))


DECLARED = {
    "solve": SolveOptions,
    "bound": api.BoundOptions,
    "sweep": GridOptions,
    "race": RaceOptions,
    "show": catalogue.ShowOptions,
    "evaluate": checking.EvaluateOptions,
    "compare": comparing.CompareOptions,
    "algorithms": comparing.AlgorithmsOptions,
    "curve": curving.CurveOptions,
    "derive": deriving.DeriveOptions,
    "closed-form": deriving.RegimesOptions,
    "emit": emitting.EmitOptions,
    "score": exchange.ScoreOptions,
    "sensitivity": exploring.SensitivityOptions,
    "bench": measuring.BenchOptions,
    "validate": measuring.ValidateOptions,
    "export": modelling.ExportOptions,
    "run": running.RunOptions,
    "network": sweeping.NetworkOptions,
    "plot": sweeping.PlotOptions,
}
IN_PYTHON = {"closed-form": "regimes"}


@pytest.mark.parametrize("verb", DECLARED)
def test_what_a_verb_declares_python_and_the_shell_take(verb: str) -> None:
    said = CliRunner().invoke(app, [verb, "--help"]).output
    python = getattr(optmap, IN_PYTHON.get(verb, verb))
    for name, option in declared(DECLARED[verb]).items():
        parameter = inspect.signature(python).parameters[name]
        assert (parameter.kind, parameter.default) == (inspect.Parameter.KEYWORD_ONLY, option.opt.default)
        assert f"    {name}: {option.opt.help.split()[0]}" in str(python.__doc__)
        if option.opt.shell is not None:
            assert re.split("[ /]", option.flag)[0] in said


def test_a_name_that_is_no_option_is_refused_as_python_refuses_it() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'tile'"):
        optmap.solve(PRODUCT, memory="64w", tile="any")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'tile'"):
        values_of(SWEEP, {"tile": 1})


def test_what_means_nothing_on_a_machine_is_refused_with_its_flag() -> None:
    solve = declared(SolveOptions)
    meshed, plain = optmap.machine("eyeriss"), optmap.machine("balanced")
    refuse_elsewhere(solve, meshed, values_of(solve, {}))
    refuse_elsewhere(solve, plain, values_of(solve, {}))
    for given, machine, said in (
        ({"settings": {"hops": 1}}, plain, "--set is for searches on accelerators, which balanced is not"),
        ({"capacity": "safe"}, meshed, "--capacity safe has no meaning on the accelerator eyeriss"),
        ({"certificate": "full"}, meshed, "--certificate full has no meaning"),
    ):
        with pytest.raises(InputError, match=said):
            refuse_elsewhere(solve, machine, values_of(solve, given))


class BoilOptions(TypedDict, total=False):
    """Options that others have, one with a help of its own, and one that may be left out."""

    time_limit: Annotated[TimeLimitOption, Here(help="Of one egg.")]
    capacity: CapacityOption
    eggs: Annotated[int | None, Opt(help="How many.", least=1)]


def test_what_verbs_share_is_said_otherwise_in_one_of_them_alone() -> None:
    shared, here = declared(SharedOptions)["time_limit"], declared(BoilOptions)["time_limit"]
    assert (here.opt.help, here.opt.default) == ("Of one egg.", shared.opt.default)
    assert shared.opt.help == "Stop after this time."


def test_a_value_is_read_as_what_the_option_says_of_it() -> None:
    known = declared(BoilOptions)
    assert values_of(known, {"time_limit": "2min", "capacity": "safe"}) == {
        "time_limit": 120.0, "capacity": "safe", "eggs": None,
    }  # fmt: skip
    assert values_of(known, {"eggs": None})["eggs"] is None
    for given, said in (
        ({"eggs": 0}, "eggs is 0; a whole number from 1"),
        ({"capacity": "saf"}, "did you mean safe?"),
        ({"capacity": None}, "capacity None is not a name"),
        ({"time_limit": None}, r"time limit \(--time-limit\) is None"),
    ):
        with pytest.raises(InputError, match=said):
            values_of(known, given)


def test_options_of_sweeps_are_values_that_compare_and_do_not_change() -> None:
    one = Options(constraints={"Fast.i": 4}, settings={"random.victory": 0})
    assert one == Options(**one.values) == one.having()
    assert one != Options()
    assert json.loads(json.dumps(one.document)) == {
        "objective": None, "tiles": "any", "capacity": "tile", "integers": "exact", "cores": 1, "innermost": None,
        "time_limit": 60.0, "constraints": ["Fast.i=4"], "settings": ["random.victory=0"],
    }  # fmt: skip
    with pytest.raises(AttributeError, match="there is no option 'tile'"):
        _ = one.tile
