"""Every method by its name, the weaker ones in words."""

import pkgutil

import pytest

from microagg.base.errors import OptionError
from microagg.private import mechanisms
from microagg.private.registry import all_methods, find, methods


def test_every_file_is_a_method():
    names = [file.name.replace("_", "-") for file in pkgutil.iter_modules(mechanisms.__path__)]
    assert names == [method.name for method in all_methods()] == list(methods())


def test_names():
    for method in all_methods():
        assert ("given the partition" in methods()[method.name]) != method.standard
    with pytest.raises(OptionError, match="did you mean marginals"):
        find("marginal", None)
    with pytest.raises(OptionError, match="there are insensitive, marginals, mdav"):
        find("xyz", None)


def test_words_of_acceptance():
    with pytest.raises(OptionError, match="accept must be 'partition-conditional'"):
        find("records", "yes")
    with pytest.raises(OptionError, match="given the partition") as refusal:
        find("mdav", None)
    assert all(word in str(refusal.value) for word in ("insensitive", "marginals", "records"))
