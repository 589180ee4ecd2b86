"""Small DOCX, EPUB and PDF files, made by hand."""

from __future__ import annotations

import zipfile

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
BODY = (
    f"<w:document {W}><w:body><w:p><w:r><w:t>One </w:t></w:r><w:r><w:t>line é</w:t></w:r></w:p><w:sdt><w:sdtContent>"
    "<w:p><w:r><w:t>In</w:t><w:tab/><w:t>side</w:t></w:r></w:p></w:sdtContent></w:sdt><w:tbl><w:tr><w:tc><w:p><w:r>"
    "<w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:body></w:document>"
)
OPF = """<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>
Book</dc:title></metadata><manifest><item id="a" href="one%20a.xhtml"/><item id="b" href="two.xhtml"/></manifest><spine>
<itemref idref="b"/><itemref idref="a"/></spine></package>"""
CONTAINER = """<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>"""


def packed(path, **members) -> str:
    """Write a zip; returns its path."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members["files"].items():
            archive.writestr(name, data)
    return str(path)


def pdf(*pages: str) -> bytes:
    """A PDF with a line of text on each page; "" makes a page without text."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = ["<</Type/Catalog/Pages 2 0 R>>", f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>",
               "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]  # fmt: skip
    for n, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET" if text else ""
        fonts = "<</Font<</F1 3 0 R>>>>"
        objects.append(f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources{fonts}/Contents {5 + 2 * n} 0 R>>")
        objects.append(f"<</Length {len(stream)}>>stream\n{stream}\nendstream")
    out, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{one}\nendobj\n".encode()
    table = "".join(f"{at:010} 00000 n \n" for at in places)
    head = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer<</Size {len(objects) + 1}/Root 1 0 R>>\n"
    return out + head.encode() + f"startxref\n{len(out)}\n%%EOF\n".encode()
