"""The command line: options in, the library called, errors as one sentence."""

import os
import sys

import typer

from microagg.cli.assessing import assess
from microagg.cli.comparing import compare
from microagg.cli.inspecting import inspect
from microagg.cli.listing import demo, list_methods
from microagg.cli.protecting import protect
from microagg.errors import MicroaggError, PromiseError

BROKEN_PROMISE = 1
BAD_INPUT = 2

app = typer.Typer(
    help="Publish microdata without exposing anyone: at least k similar records share one value.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("protect")(protect)
app.command("inspect")(inspect)
app.command("assess")(assess)
app.command("compare")(compare)
app.command("methods")(list_methods)
app.command("demo")(demo)


def main() -> None:
    """Run the command line; exit code 0 done, 2 bad input, 1 a promise could not be kept."""
    try:
        app()
    except PromiseError as failure:
        _fail(str(failure), BROKEN_PROMISE)
    except MicroaggError as failure:
        _fail(str(failure), BAD_INPUT)
    except BrokenPipeError:
        # Whoever read standard output has stopped; Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(BAD_INPUT)
    except OSError as failure:
        name = "" if failure.filename is None else f": {failure.filename}"
        _fail(f"{failure.strerror or 'the file could not be used'}{name}", BAD_INPUT)
    except MemoryError:
        _fail("there is not enough memory for this table", BAD_INPUT)
    except KeyboardInterrupt:
        _fail("stopped; nothing was published", 130)


def _fail(sentence: str, code: int) -> None:
    print(f"microagg: {sentence}", file=sys.stderr)
    sys.exit(code)
