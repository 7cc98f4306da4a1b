"""Makes one document per format, each with a word that no other one has, and prints the list of them as JSON.

formats.py FOLDER    needs the packages of xtask/src/documents/requirements.txt
"""

import email.message
import json
import mailbox
import pathlib
import sys
import tarfile
import zipfile

# What people call the format, the name of the file, and the word that is searched for.
FORMATS = [
    ("plain text", "note.txt", "quillmarsh"),
    ("Markdown", "guide.md", "fernholt"),
    ("source code", "program.py", "brackwater"),
    ("HTML", "page.html", "thistlewick"),
    ("PDF", "report.pdf", "ambervale"),
    ("DOCX", "letter.docx", "copperfinch"),
    ("XLSX", "sheet.xlsx", "marrowdale"),
    ("PPTX", "slides.pptx", "hollowmere"),
    ("XLS", "old-sheet.xls", "larkenfield"),
    ("ODT", "paper.odt", "winterbourne"),
    ("RTF", "memo.rtf", "saltersgate"),
    ("EPUB", "book.epub", "oakenshaw"),
    ("mail (EML)", "message.eml", "ravensthorpe"),
    ("mail attachment", "with-attachment.eml", "silverbeck"),
    ("mailbox (MBOX)", "archive.mbox", "dunnockley"),
    ("Jupyter notebook", "study.ipynb", "pebblecombe"),
    ("subtitles (SRT)", "film.srt", "starlingford"),
    ("text in a ZIP", "bundle.zip", "gorsebury"),
    ("DOCX in a TAR.GZ", "backup.tar.gz", "mosslington"),
]


def sentence(word):
    return f"The committee met at {word} and approved the annual budget."


def docx(path, word):
    import docx as library

    document = library.Document()
    document.add_heading("Minutes", 1)
    document.add_paragraph(sentence(word))
    document.save(path)


def xlsx(path, word):
    import xlsxwriter

    book = xlsxwriter.Workbook(path)
    sheet = book.add_worksheet("Budget")
    sheet.write_row(0, 0, ["Place", "Amount"])
    sheet.write_row(1, 0, [word, 1200])
    book.close()


def xls(path, word):
    import xlwt

    book = xlwt.Workbook()
    sheet = book.add_sheet("Budget")
    sheet.write(0, 0, "Place")
    sheet.write(1, 0, word)
    book.save(str(path))


def pptx(path, word):
    import pptx as library

    show = library.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text = "Minutes"
    slide.placeholders[1].text = sentence(word)
    show.save(path)


def pdf(path, word):
    from fpdf import FPDF

    document = FPDF()
    document.add_page()
    document.set_font("Times", size=12)
    document.multi_cell(0, 6, sentence(word))
    document.output(str(path))


def odt(path, word):
    from odf.opendocument import OpenDocumentText
    from odf.text import P

    document = OpenDocumentText()
    document.text.addElement(P(text=sentence(word)))
    document.save(str(path))


def epub(path, word):
    from ebooklib import epub as library

    book = library.EpubBook()
    book.set_identifier("minutes")
    book.set_title("Minutes")
    chapter = library.EpubHtml(title="One", file_name="one.xhtml")
    chapter.content = f"<h1>One</h1><p>{sentence(word)}</p>"
    book.add_item(chapter)
    book.spine = [chapter]
    book.add_item(library.EpubNcx())
    library.write_epub(str(path), book)


def message(word):
    mail = email.message.EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Ada <ada@example.org>", "Bo <bo@example.org>", "Minutes"
    mail["Date"] = "Tue, 01 Feb 2022 10:00:00 +0100"
    mail.set_content(sentence(word))
    return mail


def with_attachment(path, word):
    part = path.with_name("attached.docx")
    docx(part, word)
    mail = message("the office")
    kind = "vnd.openxmlformats-officedocument.wordprocessingml.document"
    mail.add_attachment(part.read_bytes(), maintype="application", subtype=kind, filename="attached.docx")
    part.unlink()
    path.write_bytes(bytes(mail))


def mbox(path, word):
    box = mailbox.mbox(path)
    box.add(message("the office"))
    box.add(message(word))
    box.close()


def notebook(path, word):
    cells = [{"cell_type": "markdown", "metadata": {}, "source": [sentence(word)]}]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))


def zipped(path, word):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("minutes.txt", sentence(word) + "\n")


def packed(path, word):
    part = path.with_name("packed.docx")
    docx(part, word)
    with tarfile.open(path, "w:gz") as archive:
        archive.add(part, "minutes.docx")
    part.unlink()


def text(template):
    return lambda path, word: path.write_text(template.format(sentence(word)))


MAKERS = {
    "note.txt": text("{}\n"),
    "guide.md": text("# Minutes\n\n{}\n"),
    "program.py": text('def minutes():\n    """{}"""\n    return 1\n'),
    "page.html": text("<html><head><title>Minutes</title></head><body><p>{}</p></body></html>\n"),
    "report.pdf": pdf,
    "letter.docx": docx,
    "sheet.xlsx": xlsx,
    "slides.pptx": pptx,
    "old-sheet.xls": xls,
    "paper.odt": odt,
    "memo.rtf": lambda path, word: path.write_text("{\\rtf1\\ansi " + sentence(word) + "\\par}\n"),
    "book.epub": epub,
    "message.eml": lambda path, word: path.write_bytes(bytes(message(word))),
    "with-attachment.eml": with_attachment,
    "archive.mbox": mbox,
    "study.ipynb": notebook,
    "film.srt": text("1\n00:00:01,000 --> 00:00:04,000\n{}\n"),
    "bundle.zip": zipped,
    "backup.tar.gz": packed,
}

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for _, name, word in FORMATS:
    MAKERS[name](folder / name, word)
print(json.dumps([{"format": format, "file": name, "word": word} for format, name, word in FORMATS]))
