"""The command line: options in, the library called, errors as one sentence."""

import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Annotated, Any

import typer

from microagg.base.errors import MicroaggError, OptionError, PromiseError, sentence_of
from microagg.base.interruptions import interrupt
from microagg.base.memory import live_within_limits
from microagg.cli import options
from microagg.cli.assessing import assess
from microagg.cli.comparing import compare
from microagg.cli.inspecting import inspect
from microagg.cli.listing import demo, list_methods, warm_up
from microagg.cli.private import private
from microagg.cli.protecting import protect
from microagg.cli.saying import say, say_json
from microagg.cli.serving import app as open_app

BROKEN_PROMISE = 1
BAD_INPUT = 2
STOPPED = 130
NOBODY_READS = 141
# Click is a package of its own or a part of Typer, as Typer's version has it.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

app = typer.Typer()


@app.callback(invoke_without_command=True)
def microagg(
    version: Annotated[bool, typer.Option("--version", help="Say which version this is.")] = False,
) -> None:
    """Publish microdata in which at least k similar records share one value, with little loss."""
    if version:
        from microagg import __version__

        say(f"microagg {__version__}")
        raise typer.Exit


app.command("protect")(protect)
app.command("inspect")(inspect)
app.command("assess")(assess)
app.command("compare")(compare)
app.command("private")(private)
app.command("methods")(list_methods)
app.command("demo")(demo)
app.command("app")(open_app)
app.command("warm-up")(warm_up)


def main() -> None:
    """Run the command line; exit code 0 done, 2 bad input, 1 a promise could not be kept.

    With --json an error is JSON too, on standard output.
    """
    _fill_standard_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A name that the terminal has no letters for is no reason to stop.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        live_within_limits()
        _check_environment()
        with _cleaning_up_when_asked_to_end():
            _run(sys.argv[1:] or ["--help"])
    except _UsageError as failure:
        _fail(_usage(failure), BAD_INPUT)
    except PromiseError as failure:
        _fail(str(failure), BROKEN_PROMISE)
    except MicroaggError as failure:
        _fail(str(failure), BAD_INPUT)
    except BrokenPipeError:
        # Whoever read standard output has stopped.
        _let_go_of_stdout()
        sys.exit(NOBODY_READS)
    except KeyboardInterrupt:
        _fail("stopped", STOPPED)
    except _AskedToEndError as asked:
        _fail("stopped", 128 + asked.signal)
    except Exception as failure:
        _let_go_of_stdout()
        _fail(sentence_of(failure), BAD_INPUT)


class _AskedToEndError(BaseException):
    """A signal that asks the program to end, to be answered once everything is cleaned up."""

    def __init__(self, number: int) -> None:
        self.signal = number


@contextmanager
def _cleaning_up_when_asked_to_end() -> Iterator[None]:
    """Signals that would end the program at once end it as Ctrl-C does; the second time, too."""

    def end(number: int, _frame: Any) -> None:
        for each in mine:
            signal.signal(each, signal.SIG_IGN)
        interrupt(_AskedToEndError(number))

    asking = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # What was started with nohup goes on; only the first thread may say what signals do.
    mine = [each for each in asking if signal.getsignal(each) is signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread():
        mine = []
    for each in mine:
        signal.signal(each, end)
    try:
        yield
    finally:
        for each in mine:
            signal.signal(each, signal.SIG_DFL)


def _fill_standard_streams() -> None:
    """Where standard streams are closed, no file of ours takes their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        # Else what is said to nobody would be said to standard output.
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115


def _let_go_of_stdout() -> None:
    """Python would write what is left there once more at exit, and complain once more."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(arguments: list[str]) -> None:
    # Not app(): it has words and exit codes of its own for what goes wrong.
    command = _command()
    if "_MICROAGG_COMPLETE" in os.environ:
        # A shell asks how a command goes on, which Typer answers.
        command(prog_name="microagg")
    try:
        with command.make_context("microagg", arguments) as context:
            command.invoke(context)
    except typer.Exit as done:
        sys.exit(done.exit_code)
    finally:
        if sys.stdout is not None:
            sys.stdout.flush()


@cache
def _command() -> Any:
    """All commands and their options; who calls several in one process waits once for them."""
    return typer.main.get_command(app)


def _check_environment() -> None:
    """Refuse what libraries beneath would stumble over; what loads them comes later."""
    from microagg.base.threads import check_threads

    check_threads()
    for name, least in (("NUMBA_NUM_THREADS", 1), ("SOURCE_DATE_EPOCH", 0)):
        given = os.environ.get(name, "1")
        if not given.isdecimal() or not least <= int(given) < 1 << 40:
            raise OptionError(
                f"the environment variable {name} must be a whole number, {least} or more, or not "
                "be set"
            )


def _usage(failure: Any) -> str:
    command = "microagg" if failure.ctx is None else failure.ctx.command_path
    message = failure.format_message().rstrip(".")
    if "extra argument" in message and any(word.endswith(",") for word in sys.argv):
        return f"{message}; a list has commas and no spaces: -q age,sex"
    return f"{message}; {command} --help says what there is"


def _fail(sentence: str, code: int) -> None:
    sentence = " ".join(options.in_options(sentence).split())
    if "--json" in sys.argv:
        say_json({"error": sentence, "exit": code})
    else:
        say(f"microagg: {sentence}", aside=True)
    sys.exit(code)
