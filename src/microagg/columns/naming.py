"""What the name of a column suggests, in eight languages.

English, German, French, Spanish, Italian, Portuguese, Dutch and Catalan, without accents; words
begin a name's word, and end it where `\\b` says so.
"""

import re

_WORDS = {
    "identifier": (
        "address|email|e mail|first name|last name|surname|name|phone|telephone|mobile|ssn|"
        "social security|passport|iban|account|patient|person|respondent|customer|user|id|nr|"
        "number|url|ip",
        r"vorname|nachname|familienname|anschrift|adresse|strasse|hausn|telefon|handy|mobil\b|"
        "ausweis|reisepass|steuer ?(id|n)|sozialversicherung|versicherten|kennung|kennzeichen|"
        r"konton|kundenn|personaln|aktenzeichen|nummer\b",
        r"nom\b|noms\b|prenom|courriel|portable\b|nir\b|securite sociale|num secu|numero|passeport|"
        r"identifiant|matricule|dossier\b",
        r"nombre|apellido|direccion|correo|telefono|movil\b|dni\b|nie\b|nif\b|pasaporte|"
        "identificador|seguridad social|expediente",
        r"nome\b|cognome|indirizzo|cellulare|codice ?fiscale|passaporto|matricola|tessera",
        r"apelido|sobrenome|endereco|morada|telefone|telemovel|celular\b|cpf\b|passaporte|"
        "contribuinte|matricula|utente",
        r"naam|voornaam|achternaam|adres\b|straat|huisn|telefoon|mobiel|bsn\b|burgerservice|"
        r"paspoort|klantn|dossiern|rekening",
        r"cognom|adreca|correu|mobil\b|passaport|numero|seguretat social|expedient",
    ),
    "confidential": (
        "diagnosis|disease|illness|icd|drug|medication|hiv|salary|wage|debt|loan|tax|cost|"
        "charge|religion|politic|party|vote|crime|offence|sexual|genetic|stay|score|prediction",
        "diagnose|krankheit|erkrankung|medikament|gehalt|lohn|schulden|kredit|steuer|kosten|"
        r"konfession|partei\b|straftat|genetisch|verweildauer",
        r"diagnostic|maladie|medicament|traitement|salaire|dette|emprunt|impot|cout|parti\b|delit",
        r"diagnostico|enfermedad|medicamento|salario|sueldo|deuda|prestamo|impuesto|coste|partido|"
        r"delito|voto\b|estancia",
        r"diagnosi|malattia|farmac|stipendio|debit|prestito|imposta|costo|religione|partito|reato|"
        "degenza",
        r"doenca|divida|emprestimo|imposto|custo|religiao|crime|internamento",
        r"ziekte|medicijn|salaris|loon|schuld|lening|belasting|godsdienst|religie|partij|misdrijf|"
        "ligduur",
        r"malaltia|salari|sou\b|deute|prestec|impost|religio|partit|delicte|estada",
    ),
    "quasi-identifier": (
        "age|birth|born|dob|sex|gender|zip|postal|postcode|city|town|municipality|county|region|"
        "state|country|nationality|citizenship|race|ethnic|marital|education|degree|occupation|"
        "job|profession|employer|industry|household|children|income|revenue|turnover|employees|"
        r"height|weight|admission|date|distance|lat\b|latitud|lon\b|lng\b|longitud|workclass|"
        "relationship|coordinate|coordenada|koordinate|breitengrad|langengrad",
        r"alter\b|geburt|geboren|geschlecht|plz\b|postleitzahl|ort\b|wohnort|stadt|gemeinde|"
        r"landkreis|kreis\b|bundesland|land\b|staat|nationalitat|familienstand|bildung|abschluss|"
        "schul|beruf|arbeitgeber|branche|haushalt|kinder|einkommen|umsatz|beschaftigte|grosse|"
        r"groesse|gewicht|datum|aufnahme|entfernung",
        r"naissance|sexe|code postal|ville|commune|departement|pays\b|nationalite|etat civil|"
        "situation familiale|diplome|niveau|metier|employeur|menage|enfants|revenu|taille|poids",
        r"edad\b|nacimiento|sexo|genero|codigo postal|cp\b|ciudad|municipio|provincia|pais\b|"
        "nacionalidad|estado civil|estudios|educacion|profesion|ocupacion|empleo|hogar|hijos|"
        r"ingreso|renta|estatura|altura|peso|fecha",
        r"eta\b|nascita|sesso|genere|cap\b|citta|comune\b|regione|paese|nazionalita|cittadinanza|"
        r"stato civile|istruzione|titolo di studio|professione|occupazione|figli|reddito|altezza|"
        r"data\b",
        r"idade\b|nascimento|cidade|concelho|freguesia|distrito|nacionalidade|escolaridade|"
        "profissao|ocupacao|filhos|rendimento|renda",
        r"leeftijd|geboorte|geslacht|woonplaats|plaats|stad\b|gemeente|provincie|nationaliteit|"
        r"burgerlijke|opleiding|beroep|werkgever|huishouden|kinderen|inkomen|omzet|lengte",
        r"edat\b|naixement|codi postal|ciutat|municipi|comarca|nacionalitat|estat civil|estudis|"
        r"professio|ocupacio|llar\b|fills|ingressos|alcada|pes\b",
    ),
}
# Also where several records share a value, and however its letters are written together.
_IDS = r"\b(id|ids|nr|uuid|guid|key|no|[hpu]id|hhid|psu)\b|\b(household|family|dwelling|hh)$"
_WEIGHTS = (
    r"\b(weights|[fhpsw]?weighting|f?wgt|a?fnlwgt|wtfinl|(asec|per|hh|marsup)wt|"
    r"[fhpsw]wt|[hpsw]weight)\b|"
    r"\b(sampl|survey|design|final|base|person|household|replicate|calibrat)\w* (weight|wt|wgt)\b|"
    r"\b(gewichtung|hochrechnung|ponderation|ponderacion|ponderazione|ponderacao|ponderacio|"
    r"weegfactor|wegingsfactor|factor de expansion|fator de expansao|factor d elevacio)|"
    r"\b(personen|haushalts|stichproben)gewicht|\b(poids|peso|pes) (de|d|di|du|del|da)? ?"
    r"(sondage|muestra|muestral|campion\w*|amostra\w*|mostra\w*)"
)
# Numbers of things.
_COUNTS = (
    r"\b(size|count|how many|number of|num|no of|n|children|siblings|rooms|years?|visits|"
    r"grosse|anzahl|zahl|kinder|geschwister|zimmer|jahre|"
    r"taille|nombre|nb|enfants|pieces|annees|ans|"
    r"tamano|numero de|hijos|habitaciones|anos|"
    r"dimensione|numero di|figli|stanze|anni|"
    r"tamanho|filhos|quartos|grootte|aantal|kinderen|kamers|jaren|mida|nombre de|fills|anys)\b"
)
# Numbers that stand for something else.
_CODES = (
    r"\b(sex|gender|zip|post(al)?( ?code)?|region|state|county|country|district|canton|"
    r"province|municipality|city|town|nation(ality)?|citizenship|race|ethnic(ity)?|religion|"
    r"marital|occupation|profession|industry|sector|branch|nace|isco|icd|fips|nuts|codes?|"
    r"type|category|class|group|status|"
    r"geschlecht|plz|postleitzahl|(wohn|geburts|arbeits)?ort|(wohn)?gemeinde|(land)?kreis|"
    r"bundesland|land|kanton|staat|staatsangehorigkeit|familienstand|beruf|branche|konfession|schlussel|kennziffer|"
    r"sexe|departement|commune|pays|nationalite|etat civil|"
    r"sexo|genero|cp|codigo|provincia|municipio|comunidad|pais|nacionalidad|estado civil|"
    r"sesso|genere|cap|codice|regione|comune|stato|nazionalita|stato civile|"
    r"concelho|distrito|freguesia|regiao|nacionalidade|"
    r"geslacht|gemeente|provincie|nationaliteit|burgerlijke staat|"
    r"codi|comarca|municipi|nacionalitat|estat civil)\b"
)
_HOUSEHOLDS = (
    r"\b(hh|hhid|household|family|dwelling|haushalt|familie|menage|foyer|hogar|famiglia|nucleo|"
    r"agregado|huishouden|llar|hid)"
)


def named_like(words: str, role: str) -> bool:
    """Whether the words of a name, see `words_of`, suggest a role."""
    return any(re.search(rf"\b({each})", words) for each in _WORDS[role])


def named_like_weights(words: str) -> bool:
    """Whether they suggest sampling weights."""
    return re.search(_WEIGHTS, words.strip()) is not None


def named_like_code(words: str) -> bool:
    """Whether they suggest numbers of which means say nothing."""
    return re.search(_CODES, words) is not None


def named_like_count(words: str) -> bool:
    """Whether they suggest that something was counted, so that means say something."""
    return re.search(_COUNTS, words.strip()) is not None


def named_like_weight(words: str) -> bool:
    """Whether they are no more than "weight": a sampling weight, or what somebody weighs."""
    return words.strip() in ("weight", "gewicht", "poids", "peso", "pes")


def named_like_id(words: str) -> bool:
    """Whether they suggest an identifier that several records may share."""
    return re.search(_IDS, words.strip()) is not None


def named_like_household(words: str) -> bool:
    """Whether an identifier that several records share suggests who lives together."""
    return re.search(_HOUSEHOLDS, words.strip()) is not None
