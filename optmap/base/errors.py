"""The one error tree of optmap.

Every error a user can cause derives from `OptmapError`; its message says what is wrong, where
(file, field or character) and what to change. The command line turns them into exit codes.
"""


class OptmapError(Exception):
    """Base of every error that optmap raises on purpose."""

    exit_code = 2


class InputError(OptmapError):
    """User input that cannot be accepted: text, file, field, name or number."""


class ParseError(InputError):
    """Notation that cannot be read; points at the offending character.

    Args:
        message: what is wrong and what would be accepted.
        text: the whole input.
        position: index of the offending character in `text`.
    """

    def __init__(self, message: str, text: str, position: int) -> None:
        self.text = text
        self.position = position
        super().__init__(f"{message}\n  {text}\n  {' ' * position}^")


class StatementError(InputError):
    """A statement that is of no kind that is known, or says what it cannot mean.

    Args:
        message: what is wrong and what would be accepted.
        part: the part of the statement that it is about, for those who know where that stands.
        where: the workload that it stands in.
    """

    def __init__(self, message: str, part: object = None, where: str = "") -> None:
        self.message = message
        self.part = part
        super().__init__(f"{where}: {message}" if where else message)


class OneStatementError(InputError):
    """Several statements, or one of another kind, where one that adds up a product of tensors is needed."""


class TreeError(InputError):
    """A mapping tree that means nothing.

    Args:
        kind: `malformed`, `not kept`, `not done`, `incomplete` or `lost`.
        reason: what is wrong, where, and what to change.
        where: file and field that the tree stands in.
    """

    def __init__(self, kind: str, reason: str, where: str = "") -> None:
        self.kind = kind
        self.reason = reason
        super().__init__(f"{where}: " * bool(where) + f"mapping tree, {kind}: {reason}")


class UnknownNameError(InputError):
    """A name that no registry knows; the message lists or suggests the known ones."""


class WrongKindError(InputError):
    """Something of another kind than is needed, such as a machine for a workload: what it is, and what to type."""


class StrategyError(InputError):
    """A search or a judge of one's own broke the protocol of searches: what it did, and what is asked of it."""


class InfeasibleError(OptmapError):
    """No valid mapping exists; the message holds the reason and the smallest fix."""

    exit_code = 3


class LimitError(OptmapError):
    """A time or size limit was reached before any answer was found."""

    exit_code = 4


class SolverUnavailableError(OptmapError):
    """A solver that was asked for is not installed; the message holds the install command."""


class CheckError(OptmapError):
    """A re-check of an answer failed: the answer must not be trusted."""

    exit_code = 5


class ContradictionError(CheckError):
    """A mapping moves fewer words than a lower bound allows: one of the two is wrong."""
