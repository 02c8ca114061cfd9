"""What stands in a page of the docs: its blocks of code, its commands, its links."""

import re
import shlex


def blocks_of(page):
    """(language, text) of every block of commands or Python, in order."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"```(console|python)\n(.*?)```", text, re.DOTALL)


def python_of(page):
    return [text for language, text in blocks_of(page) if language == "python"]


def commands_in(block):
    """The commands of a block as words, without comments; a line may go on in the next."""
    for line in block.replace("\\\n", " ").splitlines():
        yield shlex.split(line.removeprefix("$ "), comments=True)


def commands_of(page):
    """Every command of ours, as words."""
    blocks = (text for language, text in blocks_of(page) if language == "console")
    every = [command for block in blocks for command in commands_in(block)]
    return [command for command in every if command[0] == "microagg"]
