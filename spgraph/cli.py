"""The command ``spgraph``: information, algorithms on graphs, benchmarks.

Exit codes: 0, all is well; 1, an answer was found to be wrong (``run
--validate``); 2, the command could not be carried out, and one line on stderr
says why; 130, interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from spgraph.exceptions import GraphblasException
from spgraph.exchange.launch import abort, rank

__all__ = ["main"]

OPTIONS = {"dup_op=": "--dup-op ", "symmetrize=True": "--symmetrize"}  # what messages call them, and what they are here
EXPECTED = (GraphblasException, OSError, ImportError)  # their messages say what the user can do


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    from spgraph import __version__
    from spgraph._cli import bench, info, run

    parser = argparse.ArgumentParser(
        prog="spgraph",
        description="Graph algorithms as semiring expressions.",
        epilog="spgraph COMMAND --help tells more.",
    )
    parser.add_argument("--version", action="version", version=f"spgraph {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in (info, run, bench):
        module.add_parser(commands)
    for command in _leaves(commands):
        command.add_argument("--debug", action="store_true", help="show where in the code an error came from")
    return parser


def _leaves(commands) -> Iterator[argparse.ArgumentParser]:
    """The commands that run something: those without commands of their own."""
    for command in commands.choices.values():
        below = [action for action in command._actions if isinstance(action, argparse._SubParsersAction)]
        if below:
            yield from _leaves(below[0])
        else:
            yield command


def main(argv: list[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    argv : list of str, optional
        Default: the arguments of the process.

    Returns
    -------
    int
        The exit code, see above.

    Examples
    --------
    >>> main(["run", "bfs", "path:4", "--source", "0", "--validate", "--repeat", "0"])  # doctest: +ELLIPSIS
    graph       path(4): 4 vertices
    ...
    """
    before, args = sys.stderr, None
    heard: Any = before
    if heard is None:  # it was closed: what is said there would go to stdout
        heard = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = _Lenient(heard)  # type: ignore[assignment]
    try:
        args = parser().parse_args(argv)
        if rank():  # one of several processes speaks
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
            os.environ["TQDM_DISABLE"] = "1"
        return args.command(args)
    except KeyboardInterrupt:
        print("spgraph: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if args is None or args.debug:
            raise
        abort(2, f"spgraph: {_one_line(error)}")
        return 2
    finally:
        sys.stderr = before
        if before is None:
            heard.close()


class _Lenient:
    """A stream that may take nothing, as on a full disk or where it can only be read: exit codes stay the same."""

    def __init__(self, stream):
        self._stream = stream

    def __getattr__(self, name: str):
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            if not self._stream.closed:
                self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            if not self._stream.closed:
                self._stream.flush()


def _one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    text = " ".join(str(error).split())
    for argument, option in OPTIONS.items():
        text = text.replace(argument, option)
    if isinstance(error, MemoryError):
        return f"out of memory: {text}" if text else "out of memory"
    if isinstance(error, EXPECTED):
        return text
    return f"this should not happen: {type(error).__name__}: {text} (--debug shows where)"
