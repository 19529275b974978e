"""What languages are called in English, in Portuguese and by those who speak them."""

__all__ = ["CODES", "ENGLISH", "NAMES", "PORTUGUESE"]

# English names, then Portuguese names, then the language's own; folded forms are compared.
_TABLE: dict[str, tuple[str, str, str]] = {
    "en": ("English", "inglês", ""),
    "pt": ("Portuguese", "português", ""),
    "es": ("Spanish", "espanhol / castelhano", "español / castellano"),
    "fr": ("French", "francês", "français"),
    "it": ("Italian", "italiano", ""),
    "de": ("German", "alemão", "deutsch"),
    "nl": ("Dutch / Flemish", "holandês / neerlandês", "nederlands"),
    "sv": ("Swedish", "sueco", "svenska"),
    "da": ("Danish", "dinamarquês", "dansk"),
    "no": ("Norwegian / Bokmål", "norueguês", "norsk"),
    "fi": ("Finnish", "finlandês / finês", "suomi"),
    "pl": ("Polish", "polonês / polaco", "polski"),
    "cs": ("Czech", "tcheco / checo", "čeština"),
    "sk": ("Slovak", "eslovaco", "slovenčina"),
    "hu": ("Hungarian", "húngaro", "magyar"),
    "ro": ("Romanian", "romeno", "română"),
    "ca": ("Catalan", "catalão", "català"),
    "gl": ("Galician", "galego", ""),
    "tr": ("Turkish", "turco", "türkçe"),
    "el": ("Greek", "grego", "ελληνικά"),
    "ru": ("Russian", "russo", "русский"),
    "uk": ("Ukrainian", "ucraniano", "українська"),
    "ja": ("Japanese", "japonês", "日本語"),
    "zh": ("Chinese / Mandarin", "chinês / mandarim", "中文"),
    "ko": ("Korean", "coreano", "한국어"),
    "ar": ("Arabic", "árabe", "العربية"),
    "hi": ("Hindi", "híndi", "हिन्दी"),
    "vi": ("Vietnamese", "vietnamita", "tiếng việt"),
    "id": ("Indonesian", "indonésio", "bahasa indonesia"),
    "et": ("Estonian", "estoniano", "eesti"),
    "la": ("Latin", "latim", ""),
}

CODES = tuple(_TABLE)
ENGLISH = {code: names[0].split(" / ")[0] for code, names in _TABLE.items()}
PORTUGUESE = {code: names[1].split(" / ")[0] for code, names in _TABLE.items()}
NAMES = {code: tuple(name for part in names for name in part.split(" / ") if name) for code, names in _TABLE.items()}
