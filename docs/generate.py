"""Write the pages that the code itself knows best: python docs/generate.py"""

from pathlib import Path

HERE = Path(__file__).parent


def methods_page() -> str:
    from microagg.grouping.methods import all_methods

    lines = [
        "# Methods",
        "",
        "Made by `docs/generate.py` from the registry. Names in the column *from*: IMHMI is "
        'Mortazavi, "Improved',
        'Univariate Microaggregation for Integer Values"; RepOrdMic is Mortazavi\'s "Repeated '
        'record ordering"; P3M is the',
        "paper on proximity-aware centroids. [A method of your own](extending.md) takes one entry.",
        "",
        "| method | what it does | time | from | options |",
        "| --- | --- | --- | --- | --- |",
    ]
    for method in all_methods():
        options = "; ".join(f"`{option.name}`: {option.meaning}" for option in method.options)
        cells = (f"`{method.name}`", method.description, method.time, method.paper, options)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def command_line_page() -> str:
    """From the commands themselves, not from --help, whose layout changes with library versions."""
    import typer

    from microagg.cli import app

    group = typer.main.get_command(app)
    text = f"# Command line\n\nMade by `docs/generate.py` from the commands.\n\n{group.help}\n"
    text += "\nExit code 0: done. 2: bad input, with one sentence on standard error.\n"
    text += (
        "1: a release failed its check and was not published. With `--json` an error is JSON too, "
    )
    text += 'on\nstandard output: `{"error": "...", "exit": 2}`.\n'
    text += "\nColumns are listed with commas; a name with commas stands in double quotes: "
    text += """`-q '"name, first",age'`.\n"""
    text += "Names are shown with what does not print spelt out. `NO_COLOR` is kept. "
    text += "`microagg --version` says\nwhich version this is, `microagg --install-completion` has "
    text += "the shell complete commands, and programs\nhear of every step, never of values, from "
    text += '`logging.getLogger("microagg")`.\n'
    for name, command in sorted(group.commands.items()):
        text += f"\n## microagg {name}\n\n{command.help}\n"
        if command.params:
            text += "\n| option | default | meaning |\n| --- | --- | --- |\n"
        for option in command.params:
            if isinstance(option, typer.core.TyperArgument):
                name, default = option.name.upper(), ""
            else:
                name, default = ", ".join(option.opts), option.default
            shown = "" if default in (None, "", False) else f"`{default}`"
            text += f"| `{name}` | {shown} | {option.help} |\n"
    return text


def measures_page() -> str:
    from microagg.measure.figures import FIGURES
    from microagg.measure.risk.figures import EXPOSURE

    figures = (*EXPOSURE, *FIGURES)
    text = (
        "# Measures\n\nMade by `docs/generate.py` from the measures themselves. "
        "`microagg.assess` gives all of them;\nthe report shows them. x is an original value, x' "
        "the released one, sigma the original deviation.\n"
        "`microagg.risk` and `microagg inspect --risk` give those of exposure, of a table as it "
        "stands, before anything\nis done to it: see [risk](risk.md).\n\n"
        "Figures of confidential columns are counted on all records of the release, class by "
        "class: records that\nshare their quasi-identifiers, and their strata. No value, which NaN "
        "is too, counts as a value of its own,\nbelow all others. Numbers, dates and times have an "
        "order, and so has text that is nothing but such; all\nelse has none.\n\n"
        "Figures of models, the propensity score and two-way tables come with `--target` "
        "(`targets`): each target is\ntold from all other columns that are judged or confidential, "
        "by least squares if it is a number, by logistic\nregression (a ridge of 1, one category "
        "against all others) if not, trained on the originals and on the release\nand tested on "
        "the originals. Numbers are in deviations, categories beyond the 20 commonest are one. "
        "Where\nscikit-learn is installed (extra `sklearn`), its boosted trees stand beside them, "
        "trained on one half of the\nrecords and tested on the other.\n"
    )
    for group in dict.fromkeys(figure.group for figure in figures):
        text += (
            f"\n## {group.capitalize()}\n\n| figure | name | formula | range | better | meaning |\n"
        )
        text += "| --- | --- | --- | --- | --- | --- |\n"
        for figure in figures:
            if figure.group == group:
                formula = figure.formula.replace("|", "\\|")
                low, high = (f"{end:g}".replace("inf", "∞") for end in figure.range)
                unit = "%" if figure.unit == "percent" else figure.unit
                cells = (
                    figure.title,
                    f"`{figure.name}`",
                    f"`{formula}`",
                    f"{low} to {high} {unit}".rstrip(),
                    figure.better,
                    figure.description,
                )
                text += "| " + " | ".join(cells) + " |\n"
    return text + attacks_section()


def attacks_section() -> str:
    from microagg.measure.attacks.registry import ATTACKS

    text = (
        "\n## Attacks\n\n`microagg assess --attacks` and `microagg.assess(..., attacks=True)` try "
        "what a capable intruder could do. Each\nattack says which share of the records and of the "
        "values it discloses, and what chance would. A number is\ndisclosed by a guess within `sd` "
        "percent of a deviation, a category by the right one. The criteria are those\nby which "
        "data protection judges anonymity: *singling out* a record, *linkability* of a person to a "
        "record or\nclass of records, and *inference* of a value.\n\n"
        "| attack | name | criteria | what the intruder knows | what he does | records disclosed | "
        "values disclosed | chance |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n"
    )
    for attack in ATTACKS:
        cells = (
            attack.title,
            f"`{attack.name}`",
            ", ".join(attack.criteria),
            attack.knows,
            attack.description,
            attack.records,
            attack.values,
            attack.chance,
        )
        text += "| " + " | ".join(cells) + " |\n"
    return text


PAGES = {
    "methods.md": methods_page,
    "command-line.md": command_line_page,
    "measures.md": measures_page,
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")
