"""Two ways to write the same expressions: plain text and LaTeX."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sympy import Add, Expr, latex

from optmap.symbolic.symbols import latex_name


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioTerm:
    """A product that keeps its ratios: coefficient · ∏ outer/tile · ∏ factors."""

    coefficient: int
    """Words per element, times 2 where loads and stores are counted together."""
    ratios: tuple[tuple[Expr, Expr], ...]
    """(outer extent, tile extent) per loop that multiplies the traffic, outermost first."""
    factors: tuple[Expr, ...]
    """Elements per visit, one factor per subscript."""

    def cancelled(self) -> RatioTerm:
        """The same with a factor for every ratio that ends in it: `N/T * T` is `N`."""
        ratios, factors = list(self.ratios), list(self.factors)
        for above, below in reversed(self.ratios):  # inner ones first: what is left may cancel with those outside
            if below in factors:
                ratios.remove((above, below))
                factors[factors.index(below)] = above
        return replace(self, ratios=tuple(ratios), factors=tuple(factors))


class Notation(ABC):
    """How sums, products and ratios are written."""

    @abstractmethod
    def expression(self, value: Expr) -> str:
        """An expression on its own."""

    @abstractmethod
    def ratio(self, above: Expr, below: Expr) -> str:
        """A quotient of two symbols."""

    @abstractmethod
    def bracket(self, text: str) -> str:
        """Parentheses that grow with their content."""

    @abstractmethod
    def times(self, parts: Sequence[str]) -> str:
        """A product of parts that are already written."""

    def factor(self, value: Expr) -> str:
        """An expression inside a product."""
        text = self.expression(value)
        return self.bracket(text) if isinstance(value, Add) else text

    def product(self, term: RatioTerm) -> str:
        """A term, coefficient first, then ratios, then factors; what cancels is left out."""
        term = term.cancelled()
        parts = [str(term.coefficient)] if term.coefficient != 1 else []
        parts += [self.ratio(above, below) for above, below in term.ratios]
        parts += [self.factor(value) for value in term.factors if value != 1]
        return self.times(parts) if parts else "1"

    def total(self, terms: Sequence[RatioTerm]) -> str:
        """A sum with the common ratios taken out, level by level, as MOpt prints its equations; what cancels does."""
        terms = [term.cancelled() for term in terms]
        common = tuple(r for r in terms[0].ratios if all(r in term.ratios for term in terms))
        if len(terms) == 1:
            return self.product(terms[0])
        inner = [
            RatioTerm(
                coefficient=term.coefficient,
                ratios=tuple(r for r in term.ratios if r not in common),
                factors=term.factors,
            )
            for term in terms
        ]
        bare = [self.product(term) for term in inner if not term.ratios]
        rest = [term for term in inner if term.ratios]
        shared = rest and any(all(r in term.ratios for term in rest) for r in rest[0].ratios)
        nested = [self.total(rest)] if shared and len(rest) < len(inner) else [self.product(term) for term in rest]
        text = " + ".join([*bare, *nested])
        if not common:
            return text
        return self.times([*(self.ratio(above, below) for above, below in common), self.bracket(text)])


class Text(Notation):
    """Plain text: `N_k/T_k * (T_h + T_r - 1)`."""

    def expression(self, value: Expr) -> str:
        """SymPy's own text, with its deterministic order."""
        return str(value)

    def ratio(self, above: Expr, below: Expr) -> str:
        """`N_k/T_k`."""
        return f"{above}/{below}"

    def bracket(self, text: str) -> str:
        """Round brackets."""
        return f"({text})"

    def times(self, parts: Sequence[str]) -> str:
        """Spaced stars."""
        return " * ".join(parts)


class Latex(Notation):
    r"""LaTeX: `\frac{N_{k}}{T_{k}} \left(T_{h} + T_{r} - 1\right)`."""

    def expression(self, value: Expr) -> str:
        """SymPy's LaTeX with our names."""
        return str(latex(value, symbol_names={s: latex_name(s) for s in value.free_symbols}))

    def ratio(self, above: Expr, below: Expr) -> str:
        """A fraction."""
        return rf"\frac{{{self.expression(above)}}}{{{self.expression(below)}}}"

    def bracket(self, text: str) -> str:
        """Growing round brackets."""
        return rf"\left({text}\right)"

    def times(self, parts: Sequence[str]) -> str:
        """Thin spaces."""
        return r" \, ".join(parts)
