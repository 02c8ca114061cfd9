"""The settings of a recipe one by one: as options of a command, as fields of a form, and back."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, get_args

from pydantic.fields import FieldInfo

from microagg.base import texts
from microagg.base.demands import Diversity, diversities
from microagg.base.errors import OptionError
from microagg.base.reading import Reading
from microagg.base.recipe import Recipe
from microagg.base.texts import Spelled

# Settings that demand more of groups than k.
DEMANDS = ("diversity", "closeness", "dominance")


class Setting(NamedTuple):
    """A setting of the recipe, or one of those within it.

    setting: the recipe's; name: its own.
    """

    setting: str
    name: str
    field: FieldInfo

    @property
    def spelled(self) -> Spelled:
        """How it is written as text."""
        return next((each for each in self.field.metadata if isinstance(each, Spelled)), Spelled())

    @property
    def option(self) -> str:
        """As it is written on the command line."""
        return f"--{(self.spelled.name or self.name).replace('_', '-')}"

    @property
    def plain_type(self) -> type:
        """What one word is for it, `None` put aside."""
        types = [each for each in self._types() if each is not type(None)]
        return types[0] if types[0] in (bool, int, float) else str

    @property
    def choices(self) -> tuple[str, ...]:
        """The words it may be, if they are counted."""
        return tuple(each for kind in self._types() for each in get_args(kind) or (kind,)
                     if isinstance(each, str))  # fmt: skip

    def _types(self) -> Sequence[Any]:
        annotation = self.field.annotation
        return get_args(annotation) or (annotation,)

    def parse(self, given: Sequence[str]) -> Any:
        """Its value, of the texts that were given; what is no number is left to the recipe."""
        if self.spelled.parse is not None:
            return self.spelled.parse(given, self.option)
        text, kind = given[-1].strip(), self.plain_type
        if kind is bool:
            return text.lower() in ("true", "on", "yes")
        try:
            return kind(text)
        except ValueError:
            return text

    def put(self, value: Any, settings: dict[str, Any]) -> None:
        """Among the settings of a recipe."""
        home = settings if self.setting == self.name else settings.setdefault(self.setting, {})
        home[self.name] = value

    def texts(self, value: Any) -> list[str]:
        """A value as `parse` reads it: one text, or several that are given one by one."""
        if self.spelled.parse is texts.diversity:
            return [",".join(map(_demanded, diversities(value)))]
        if isinstance(value, Mapping):
            pairs = [f"{texts.listed([name])}={_text(each)}" for name, each in value.items()]
            one_each = self.spelled.parse in (texts.options, texts.orders)
            return pairs if one_each else [",".join(pairs)]
        if isinstance(value, list | tuple):
            names = self.spelled.parse is texts.names
            return [texts.listed(value)] if names else list(map(_text, value))
        return [_text(value)]

    def words(self, value: Any) -> list[str]:
        """A value as words of a command."""
        if self.spelled.parse is None and self.plain_type is bool:
            return [self.option if value else self.option.replace("--", "--no-", 1)]
        short = self.spelled.flag or self.option
        words: list[str] = []
        for text in self.texts(value):
            # What begins like an option would be taken for one.
            words += [f"{self.option}={text}"] if text.startswith("-") else [short, text]
        return words


def setting_options() -> list[Setting]:
    """Every field of the recipe, and every field of its `reading`."""
    return [
        option
        for setting, field in Recipe.model_fields.items()
        for option in (
            [Setting(setting, *each) for each in Reading.model_fields.items()]
            if field.annotation is Reading
            else [Setting(setting, setting, field)]
        )
    ]


def demands_of(recipe: Recipe) -> str:
    """What is demanded beyond k, as on the command line; nothing for k alone."""
    return "; ".join(
        f"{each.name} {text}"
        for each in setting_options()
        if each.name in DEMANDS and getattr(recipe, each.name)
        for text in each.texts(getattr(recipe, each.name))
    )


def words_of(recipe: Recipe) -> list[str] | None:
    """The options that say a recipe on the command line; None where it takes a file to say it."""
    given = recipe.model_dump(exclude_defaults=True)
    told: dict[str, Any] = {"k": recipe.k, **given}
    words: list[str] = []
    again: dict[str, Any] = {}
    for each in setting_options():
        home = told if each.setting == each.name else told.get(each.setting, {})
        if each.name in home:
            value = home[each.name]
            words += each.words(value)
            plain = each.spelled.parse is None and each.plain_type is bool
            try:
                each.put(value if plain else each.parse(each.texts(value)), again)
            except OptionError:
                return None
    try:
        return words if Recipe(**again) == recipe else None
    except OptionError:
        return None


def _demanded(demand: Diversity) -> str:
    limits = ":".join(f"{limit:.15g}" for limit in demand.limits)
    kind = "" if demand.kind == "distinct" else f"{demand.kind}:"
    return f"{texts.listed([demand.column])}={kind}{limits}"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        ordered = all(isinstance(each, str) for each in value)
        return "<".join(value) if ordered else f"[{','.join(map(_text, value))}]"
    return repr(value) if isinstance(value, float) else str(value)
