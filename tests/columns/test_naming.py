import pytest

from microagg.columns.digits import words_of
from microagg.columns.naming import (
    named_like,
    named_like_code,
    named_like_household,
    named_like_weights,
)

NAMES = {
    "identifier": "Vorname Straße Hausnummer prénom Nom téléphone nombre apellidos "
    "teléfono_móvil cognome indirizzo CodiceFiscale endereço telemóvel achternaam BSN adreça "
    "cognoms numeroDossier",
    "confidential": "Diagnose Krankheit Gehalt maladie salaire enfermedad sueldo malattia "
    "stipendio doença salário ziekte salaris malaltia salari",
    "quasi-identifier": "Alter Geschlecht PLZ Größe Geburtsdatum naissance code_postal âge sexe "
    "edad fecha_nacimiento municipio età sesso città idade nascimento concelho leeftijd geslacht "
    "woonplaats edat naixement ciutat lat lng",
}


@pytest.mark.parametrize(
    ("role", "name"), [(role, name) for role, names in NAMES.items() for name in names.split()]
)
def test_roles_in_many_languages(role, name):
    assert named_like(words_of(name), role)


def test_words_lose_their_accents():
    assert words_of("GrößeInCm").split() == ["grosse", "in", "cm"]
    assert words_of("Code-Postal_2").split() == ["code", "postal"]
    assert words_of("fechaNacimiento").split() == ["fecha", "nacimiento"]
    assert words_of("évaluéPar").split() == ["evalue", "par"]


@pytest.mark.parametrize(
    "name",
    [
        "sampling_weight",
        "Gewichtung",
        "pondération",
        "factor_de_expansion",
        "peso_campionario",
        "AFNLWGT",
        "WTFINL",
        "PERWT",
    ],
)
def test_weights(name):
    assert named_like_weights(words_of(name))


def test_short_words_are_whole_words():
    for name in ("nominal", "capacity", "landing", "database", "alternative", "etag"):
        assert not named_like(words_of(name), "quasi-identifier"), name
        assert not named_like(words_of(name), "identifier"), name


def test_households():
    assert named_like_household(words_of("ori_hid"))
    assert named_like_household(words_of("HaushaltID"))
    assert not named_like_household(words_of("person_id"))


def test_codes():
    for name in ("zip", "region_code", "Geschlecht", "Wohnort", "código", "comune", "geslacht"):
        assert named_like_code(words_of(name)), name
    for name in ("age", "sort", "export", "number of children", "Alter", "capacity"):
        assert not named_like_code(words_of(name)), name
