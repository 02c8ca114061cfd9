"""microagg app"""

from pathlib import Path
from typing import Annotated

import typer

from microagg.base.errors import OptionError
from microagg.cli.saying import say


def app(
    file: Annotated[
        str | None,
        typer.Argument(help="A table to begin with, as of `protect`.", show_default=False),
    ] = None,
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.")] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, and open no browser.")
    ] = False,
    max_upload: Annotated[
        str, typer.Option(help="How large a file may be that is dropped onto the page.")
    ] = "2GB",
    folder: Annotated[
        Path, typer.Option(help="Files in it, and below, can be opened by their path.")
    ] = Path(),
    host: Annotated[
        str, typer.Option(help="The address of this machine to be reached under.")
    ] = "127.0.0.1",
    allow_remote: Annotated[
        bool,
        typer.Option("--allow-remote", help="Let other machines in, who have the address."),
    ] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Begin with a table of invented patients.")
    ] = False,
) -> None:
    """Protect a table in the browser, on this machine: every step on a page."""
    import microagg

    try:
        open_app = microagg.open_app
    except ImportError as failure:
        if failure.name is not None and failure.name.startswith("microagg"):
            raise
        raise OptionError(
            "the app needs a few packages more: pip install 'microagg[app]'"
        ) from None
    open_app(
        file,
        host=host,
        port=port,
        browser=not no_browser,
        max_upload=max_upload,
        folder=folder,
        allow_remote=allow_remote,
        demo=demo,
        say=say,
    )
