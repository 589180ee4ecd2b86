"""Return advice for files in formats that no reader supports."""

from __future__ import annotations

from dataprep.store import files

from .code import OF_SUFFIX

TO_TEXT = "save it as .docx or as text in the program that opens it"
UNPACK = "unpack it and read the folder"
SCAN = "it is a picture; recognise its text first (ocrmypdf, tesseract)"
SOUND = "it is a recording; transcribe it first (whisper)"
OTHERS = 'set format="text" if it is text in UTF-8, or convert it to JSON Lines, Parquet or CSV'
CURES = {
    **dict.fromkeys(OF_SUFFIX, 'set format="code" if it is source code'),
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".ods"), "pass its table: dp.read(pandas.read_excel(FILE))"),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), "pass its table: dp.read(polars.read_ipc(FILE))"),
    **dict.fromkeys((".avro",), "pass its table: dp.read(polars.read_avro(FILE))"),
    **dict.fromkeys((".orc",), "pass its table: dp.read(pandas.read_orc(FILE))"),
    **dict.fromkeys((".dta",), "pass its table: dp.read(pandas.read_stata(FILE))"),
    **dict.fromkeys((".pkl", ".pickle"), "load it, if you trust it, and pass its rows to dp.read"),
    **dict.fromkeys((".doc", ".rtf", ".odt", ".pages", ".wpd", ".ppt", ".pptx", ".odp"), TO_TEXT),
    **dict.fromkeys((".mobi", ".azw", ".azw3", ".djvu", ".ps"), "convert it to EPUB or PDF (Calibre)"),
    **dict.fromkeys((".rar", ".7z", ".cab", ".iso", ".dmg", ".lz4", ".lzma", ".z", ".br"), UNPACK),
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".tif", ".tiff", ".webp", ".bmp", ".heic"), SCAN),
    **dict.fromkeys((".mp3", ".mp4", ".wav", ".ogg", ".opus", ".m4a", ".flac", ".mkv", ".webm", ".mov"), SOUND),
}


def cure_of(url: str) -> str:
    """Return the advice for the unsupported file `url`, from its suffix."""
    return CURES.get(files.suffix(url), OTHERS)
