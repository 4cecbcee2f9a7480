"""PDF files made by hand: lines of a size at a height, one standard font."""

from __future__ import annotations

import io

Lines = list[tuple[str, int]]


def pdf(*pages: Lines, info: str = "", lang: str = "") -> bytes:
    """A PDF whose pages hold lines of (text, size), from the top down; an empty text leaves a gap."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(count))
    language = f" /Lang ({lang})" if lang else ""
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R{language} >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, lines in enumerate(pages):
        height, drawn = 780, []
        for text, size in lines:
            height -= size + 4 if text else 14
            clean = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
            if text:
                drawn.append(f"BT /F1 {size} Tf 1 0 0 1 50 {height} Tm ({clean}) Tj ET")
        stream = "\n".join(drawn)
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >>"
            f" /Contents {5 + 2 * number} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream.encode('cp1252'))} >>\nstream\n{stream}\nendstream")
    objects.append(f"<< {info} >>")
    out = io.BytesIO(b"")
    out.write(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(out.tell())
        out.write(f"{number} 0 obj\n{body}\nendobj\n".encode("cp1252"))
    start = out.tell()
    rows = "".join(f"{place:010d} 00000 n \n" for place in places)
    out.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{rows}".encode())
    out.write(
        f"trailer << /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>\nstartxref\n{start}\n%%EOF".encode()
    )
    return out.getvalue()
