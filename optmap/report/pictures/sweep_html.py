"""The pictures of a sweep as one interactive page; Plotly is imported when it is made.

The page holds its own copy of plotly.js and loads nothing, so it opens without a network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from optmap.answers.over_capacity.accelerator_designs import NestDesign, design_names
from optmap.answers.over_capacity.curves import Panel, best_and_bound
from optmap.answers.over_capacity.designs import pareto_designs, pareto_front
from optmap.answers.over_capacity.networks import NetworkView
from optmap.answers.over_capacity.sizing import Sizing
from optmap.base.errors import InputError
from optmap.base.extras import install
from optmap.base.texts import in_percent, size_text
from optmap.report.answers.network import network_table
from optmap.report.pictures.axes import words_label
from optmap.report.pictures.compare_plot import nested
from optmap.report.pictures.pareto_plot import Place, metric_label, nest_metrics, nest_places
from optmap.report.pictures.series import BOUND_COLOR, PALETTE, REST
from optmap.report.pictures.sweep_plots import capacity_label, network_bands

STYLE = (
    "body{font-family:sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;color:#222}"
    "table{border-collapse:collapse}td,th{padding:.2em .8em;text-align:left;border-bottom:1px solid #ddd}"
    "pre{overflow-x:auto;background:#f6f6f6;padding:1em}"
)


def sweep_page(
    panels: Sequence[Panel],
    *,
    title: str,
    answers: Sequence[Sizing] = (),
    views: Sequence[NetworkView] = (),
    totals: Sequence[Panel] = (),
    designs: Sequence[NestDesign] = (),
    metrics: tuple[str, str] = ("capacity_bytes", "traffic_bytes"),
    real: Mapping[tuple[str, str], int] | None = None,
) -> str:
    """One HTML document with curves, gaps, Pareto front, network and sizing table.

    Args:
        panels: curves of the sweep.
        title: of the page.
        answers: the sizing table; left out if empty.
        views: a network at every machine; left out if empty.
        totals: sums per machine for the Pareto front; left out if empty.
        designs: accelerators for another one; left out if empty.
        metrics: of the Pareto front.
        real: capacity in bytes of the real machine by (machine, level).

    Raises:
        InputError: if plotly is not installed.
    """
    figures: list[tuple[str, Any]] = []
    figures += [("Traffic and bound against capacity", _curves(panels, real or {}))] if panels else []
    gaps = _gaps(panels)
    figures += (
        []
        if gaps is None
        else [("Gap of the objective: exact / bound - 1; empty where there is no mapping or no bound", gaps)]
    )
    figures += [("Machines and capacities", _pareto(pareto_designs(totals, *metrics), metrics))] if totals else []
    if designs:
        both = nest_metrics(metrics)
        places = nest_places(designs, *both)
        figures.append(("Accelerators", _pareto(places, both, design_names(designs)[1])))
    figures += [(f"{view.network.name} on {view.total.place}", _network(view)) for view in views if _drawn(view)]
    parts = [f"<h1>{escape(title)}</h1>"]
    for number, (heading, figure) in enumerate(figures):
        # The first figure brings the library along, as text inside the page.
        body = figure.to_html(full_html=False, include_plotlyjs=number == 0, include_mathjax=False)
        parts.append(f"<h2>{escape(heading)}</h2>\n{body}")
    for view in views:
        if _drawn(view):
            last = view.total.series[0].samples[-1]
            text = network_table(view, view.total.series[0], last.capacity_bytes)
            parts.append(f"<pre>{escape(text)}</pre>")
    if answers:
        parts.append(_sizing(answers))
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>\n' + "\n".join(parts) + "\n</body></html>\n"


def _plotly() -> Any:
    try:
        import plotly.graph_objects
    except ImportError as error:
        raise InputError(f"HTML pages need plotly, which is not installed; run: {install('plotly')}") from error
    return plotly.graph_objects


def _drawn(view: NetworkView) -> bool:
    return bool(view.total.series and view.total.series[0].samples)


def _curves(panels: Sequence[Panel], real: Mapping[tuple[str, str], int]) -> Any:
    """All curves in one figure; a menu shows one panel at a time."""
    go = _plotly()
    figure = go.Figure()
    owners: list[int] = []
    for number, panel in enumerate(panels):
        traces = _curve_traces(go, panel, real.get((panel.machine, panel.level)))
        for trace in traces:
            trace.visible = number == 0
        figure.add_traces(traces)
        owners += [number] * len(traces)
    buttons = [
        {
            "label": f"{panel.workload} on {panel.place}",
            "method": "update",
            "args": [
                {"visible": [owner == number for owner in owners]},
                {
                    "xaxis.title.text": capacity_label(panel),
                    "yaxis.title.text": words_label(panel.word_bits),
                },
            ],
        }
        for number, panel in enumerate(panels)
    ]
    menu = {"buttons": buttons, "x": 0, "xanchor": "left", "y": 1.14, "yanchor": "top"}
    figure.update_layout(updatemenus=[menu], **_layout())
    _capacities(figure, [size for panel in panels for size in _sizes(panel)], capacity_label(panels[0]))
    figure.update_yaxes(type="log", title=words_label(panels[0].word_bits), exponentformat="SI")
    return figure


def _sizes(panel: Panel) -> list[int]:
    found = {size for size, _ in panel.bounds}
    return sorted(found | {sample.capacity_bytes for series in panel.series for sample in series.samples})


def _curve_traces(go: Any, panel: Panel, real_bytes: int | None) -> list[Any]:
    sizes = _sizes(panel)
    bound = go.Scatter(
        x=[size for size, _ in panel.bounds],
        y=[words for _, words in panel.bounds],
        name="proved bound",
        line={"color": BOUND_COLOR, "dash": "dash"},
        hovertemplate="%{y:,} words<extra>bound</extra>",
    )
    traces = [bound] if panel.bounds else []
    styles = nested(len(panel.series))
    for number, (series, style) in enumerate(zip(panel.series, styles, strict=True)):
        gaps = [in_percent(sample.traffic_gap, 2) for sample in series.samples]
        labels = [
            f"{size_text(sample.capacity_bytes)}, traffic gap {gap}"
            for sample, gap in zip(series.samples, gaps, strict=True)
        ]
        traces.append(
            go.Scatter(
                x=[sample.capacity_bytes for sample in series.samples],
                y=[sample.traffic_words for sample in series.samples],
                name=f"found ({series.label})",
                mode="lines+markers",
                line={"color": style["color"], "width": style["lw"]},
                marker={"size": style["ms"], "symbol": number % 5},
                text=labels,
                hovertemplate="%{text}<br>%{y:,} words<extra></extra>",
            )
        )
    floor = [panel.compulsory_words] * 2
    ends = [sizes[0], sizes[-1]] if sizes else [1, 2]
    traces.append(go.Scatter(x=ends, y=floor, name="compulsory", mode="lines", line={"color": "#555", "dash": "dot"}))
    traces += _shade(go, panel)
    if real_bytes is not None:
        top = max(
            [words for _, words in panel.bounds] + [s.traffic_words for line in panel.series for s in line.samples]
        )
        name = f"{panel.machine}: {size_text(real_bytes)}"
        mark = {"color": "#000", "dash": "dashdot"}
        traces.append(go.Scatter(x=[real_bytes] * 2, y=[floor[0], top], name=name, mode="lines", line=mark))
    return traces


def _shade(go: Any, panel: Panel) -> list[Any]:
    """The area between the bound and the least traffic found, as in the pictures."""
    known, bound, least = best_and_bound(panel)
    if not known:
        return []
    name, none = "gap: best mapping to bound", {"width": 0}
    common: dict[str, Any] = {"x": known, "mode": "lines", "line": none, "hoverinfo": "skip", "legendgroup": name}
    filled = {"fill": "tonexty", "fillcolor": "rgba(150,150,150,0.3)", "name": name}
    return [
        go.Scatter(y=bound, name="lower end of the gap", showlegend=False, **common),
        go.Scatter(y=least, **filled, **common),
    ]


def _layout() -> dict[str, Any]:
    return {"template": "plotly_white", "height": 480, "margin": {"l": 70, "r": 20, "t": 60, "b": 50}}


def _capacities(figure: Any, sizes: Sequence[int], label: str) -> None:
    """Powers of two as ticks of the horizontal axis."""
    low, high = min(sizes).bit_length() - 1, max(sizes).bit_length()
    step = max(1, (high - low) // 7)
    ticks = [2**power for power in range(low, high + 1, step)]
    figure.update_xaxes(type="log", title=label, tickvals=ticks, ticktext=[size_text(tick) for tick in ticks])


def _gaps(panels: Sequence[Panel]) -> Any:
    """The gaps of all layers and machines as one map, or None without gaps."""
    go = _plotly()
    rows = [(panel, series) for panel in panels for series in panel.series if series.samples]
    sizes = sorted({sample.capacity_bytes for _, series in rows for sample in series.samples})
    values = []
    for _, series in rows:
        known = {sample.capacity_bytes: sample.gap for sample in series.samples}
        values.append([None if (gap := known.get(size)) is None else 100 * max(gap, 0.0) for size in sizes])
    if not any(value is not None for row in values for value in row):
        return None
    several = len({(panel.place, series.label) for panel, series in rows}) > 1
    names = [f"{p.workload} ({p.place}, {s.label})" if several else p.workload for p, s in rows]
    figure = go.Figure(
        go.Heatmap(
            x=[size_text(size) for size in sizes],
            y=names,
            z=values,
            colorscale="Blues",
            zmin=0,
            colorbar={"title": "gap (%)"},
            hovertemplate="%{y}<br>%{x}<br>gap %{z:.2f} %<extra></extra>",
        )
    )
    figure.update_layout(**{**_layout(), "height": 160 + 24 * len(rows)})
    figure.update_yaxes(autorange="reversed", automargin=True, type="category")
    figure.update_xaxes(type="category", title="capacity")
    return figure


def _pareto(designs: Sequence[Place], metrics: tuple[str, str], names: Sequence[str] = ()) -> Any:
    """Two metrics of every design; `names` are shown under the pointer, else the first metric is."""
    go = _plotly()
    x, y = metrics
    figure = go.Figure()
    texts = list(names) or [size_text(a) if x == "capacity_bytes" else f"{a:,.6g}" for _, a, _ in designs]
    for number, label in enumerate(dict.fromkeys(label for label, _, _ in designs)):
        mine = [(a, b, text) for (name, a, b), text in zip(designs, texts, strict=True) if name == label]
        figure.add_scatter(
            x=[a for a, _, _ in mine],
            y=[b for _, b, _ in mine],
            name=label,
            mode="markers",
            marker={"color": PALETTE[number % len(PALETTE)], "symbol": number % 5, "size": 9},
            text=[text for _, _, text in mine],
            hovertemplate="%{text}<br>%{y:,.6g}<extra>" + escape(label) + "</extra>",
        )
    front = pareto_front([(a, b) for _, a, b in designs])
    line = {"color": "#000", "shape": "hv", "width": 1.5}
    if len(front) > 1:
        figure.add_scatter(
            x=[a for a, _ in front], y=[b for _, b in front], name="Pareto front", mode="lines", line=line
        )
    else:
        ring = {"color": "#000", "symbol": "circle-open", "size": 18}
        figure.add_scatter(
            x=[front[0][0]], y=[front[0][1]], name="no front: one design is best in both", mode="markers", marker=ring
        )
    figure.update_layout(**_layout())
    for axis, metric in (("xaxis", x), ("yaxis", y)):
        kind = "linear" if metric in ("gap", "traffic_gap") else "log"
        form = "none" if metric == "seconds" else "SI"
        title = metric_label(metric)
        figure.update_layout({axis: {"type": kind, "title": title, "exponentformat": form}})
    if x == "capacity_bytes":
        _capacities(figure, [int(a) for _, a, _ in designs], metric_label(x))
    return figure


def _network(view: NetworkView) -> Any:
    go = _plotly()
    sizes = [sample.capacity_bytes for sample in view.total.series[0].samples]
    figure = go.Figure()
    for number, (name, words) in enumerate(network_bands(view)):
        color = PALETTE[number % len(PALETTE)] if number < 7 else REST
        figure.add_scatter(x=sizes, y=words, name=name, stackgroup="layers", line={"color": color, "width": 0.5})
    bound = [view.total.bound_at(size) for size in sizes]
    figure.add_scatter(x=sizes, y=bound, name="proved bound (sum)", line={"color": "#000", "dash": "dash"})
    floor = [view.total.compulsory_words] * len(sizes)
    figure.add_scatter(x=sizes, y=floor, name="compulsory (sum)", line={"color": "#000", "dash": "dot"})
    figure.update_layout(**_layout(), legend={"traceorder": "reversed"})
    figure.update_yaxes(title=words_label(view.total.word_bits), exponentformat="SI", rangemode="tozero")
    _capacities(figure, sizes, capacity_label(view.total))
    return figure


def _sizing(answers: Sequence[Sizing]) -> str:
    rows = "\n".join(
        "<tr>"
        + "".join(
            f"<td>{escape(cell)}</td>"
            for cell in (
                answer.workload,
                f"{answer.machine}, {answer.level}",
                answer.method,
                f"{answer.target:g}x",
                _cell(answer.reached_bytes),
                _cell(answer.missed_bytes),
                _cell(answer.refuted_bytes),
                f"{answer.best:.4g}x",
            )
        )
        + "</tr>"
        for answer in answers
    )
    names = ("workload", "machine", "method", "target", "reached at", "missed at", "proved out of reach up to", "best")
    head = "".join(f"<th>{name}</th>" for name in names)
    return (
        "<h2>Cheapest capacity that reaches a multiple of the compulsory traffic</h2>\n"
        f"<table><tr>{head}</tr>\n{rows}</table>"
    )


def _cell(capacity_bytes: int | None) -> str:
    return "-" if capacity_bytes is None else size_text(capacity_bytes)
