"""Makes documents with several programs, and truth.json: what each of them says, and where.

make.py FOLDER    needs the packages of requirements.txt and, for half of the documents, soffice
"""

import email.message
import glob
import json
import os
import random
import shutil
import subprocess
import sys

WORDS = (
    "agreement annual appendix archive balance board budget building carrier century chapter client committee "
    "company condition contract council country customer damage decision delivery department deposit design "
    "detail difficult director discount document efficient electric employee engine estimate evidence example "
    "factory figure final finance first flexible flow forecast formula freight garden general goods growth guide "
    "harbour history holiday hospital household impact income index industry influence interest inventory invoice "
    "journal judgement kitchen language lawyer letter liability licence logistics machine manager market material "
    "meeting member message method minister minute model monthly mountain network notice number object office "
    "officer operation option order output owner package paper partner patent payment percent period permit "
    "planning policy position price principle printer problem process product profit project property proposal "
    "public purchase quality quarter question railway reason receipt record region register report research "
    "reserve resource result revenue review river sample schedule science season section security service "
    "settlement shipment signature software solution source standard statement station storage strategy supplier "
    "support surface survey system target tariff technical telephone theatre ticket traffic training transfer "
    "transport treasury treaty tribunal university update vehicle vendor village volume voyage warehouse weather "
    "window worker workshop fluffy affluent officially baffle shuffle first-class café naïve Zürich Größe façade "
    "São résumé jalapeño Århus Ærø Łódź"
).split()
LATIN = [word for word in WORDS if all(ord(letter) < 256 for letter in word)]
OTHER = "Договор поставки оборудования подписан сторонами Συμφωνία για παροχή υπηρεσιών".split()


class Text:
    """Sentences that are the same each time."""

    def __init__(self, seed, words=WORDS):
        self.random = random.Random(seed)
        self.words = words

    def sentence(self, low=6, high=16):
        words = [self.random.choice(self.words) for _ in range(self.random.randint(low, high))]
        return " ".join(words).capitalize() + "."

    def paragraph(self, sentences=5):
        return " ".join(self.sentence() for _ in range(sentences))

    def heading(self):
        return " ".join(self.random.choice(self.words) for _ in range(3)).title()

    def cell(self):
        kind = self.random.random()
        if kind < 0.3:
            return str(self.random.randint(1, 99999))
        return " ".join(self.random.choice(self.words) for _ in range(self.random.randint(1, 3)))


def docx(path, seed):
    import docx as library

    text = Text(seed, WORDS + OTHER)
    document = library.Document()
    said = []

    def say(words):
        said.append(["", words])
        return words

    document.add_heading(say(text.heading()), 0)
    for section in range(8):
        document.add_heading(say(text.heading()), 1 + section % 3)
        for _ in range(4):
            paragraph = document.add_paragraph()
            words = text.paragraph()
            # Runs within words, as editing leaves them.
            cuts = sorted(text.random.sample(range(len(words)), 3))
            for start, end in zip([0] + cuts, cuts + [len(words)]):
                run = paragraph.add_run(words[start:end])
                run.bold = text.random.random() < 0.3
            say(words)
        for _ in range(3):
            document.add_paragraph(say(text.sentence()), style="List Bullet")
        table = document.add_table(rows=4, cols=3)
        for row in table.rows:
            for cell in row.cells:
                cell.text = say(text.cell())
    document.save(path)
    return said


def pptx(path, seed):
    import pptx as library
    from pptx.util import Inches

    text = Text(seed, WORDS + OTHER)
    show = library.Presentation()
    said = []
    for number in range(1, 13):
        place = f"slide {number}"
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text = text.heading()
        said.append([place, slide.shapes.title.text])
        lines = [text.sentence(4, 6) for _ in range(2 if number % 3 == 0 else 4)]
        slide.placeholders[1].text = "\n".join(lines)
        said.extend([place, line] for line in lines)
        if number % 3 == 0:
            table = slide.shapes.add_table(3, 3, Inches(1), Inches(5.5), Inches(8), Inches(1)).table
            for row in range(3):
                for column in range(3):
                    table.cell(row, column).text = text.cell()
                    said.append([place, table.cell(row, column).text])
        notes = text.paragraph(2)
        slide.notes_slide.notes_text_frame.text = notes
        said.append([place, notes])
    show.save(path)
    return said


def sheets(seed, width=6):
    text = Text(seed)
    return [(f"Sheet {name}", [[text.cell() for _ in range(width)] for _ in range(120)]) for name in "ABC"]


def cells(content):
    return [[f"sheet '{name}'", cell] for name, rows in content for row in rows for cell in row]


def typed(cell):
    return int(cell) if cell.isdigit() else cell


def openpyxl(path, seed):
    import openpyxl as library

    book = library.Workbook()
    book.remove(book.active)
    content = sheets(seed)
    for name, rows in content:
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append([typed(cell) for cell in row])
    book.save(path)
    return cells(content)


def xlsxwriter(path, seed):
    import xlsxwriter as library

    book = library.Workbook(path)
    content = sheets(seed)
    for name, rows in content:
        sheet = book.add_worksheet(name)
        for index, row in enumerate(rows):
            sheet.write_row(index, 0, [typed(cell) for cell in row])
    book.close()
    return cells(content)


def xlwt(path, seed):
    import xlwt as library

    book = library.Workbook()
    content = sheets(seed)
    for name, rows in content:
        sheet = book.add_sheet(name)
        for row, line in enumerate(rows):
            for column, cell in enumerate(line):
                sheet.write(row, column, typed(cell))
    book.save(path)
    return cells(content)


def odfpy(path, seed):
    from odf.opendocument import OpenDocumentText
    from odf.text import H, P

    text = Text(seed, WORDS + OTHER)
    document = OpenDocumentText()
    said = []
    for _ in range(6):
        said.append(["", text.heading()])
        document.text.addElement(H(outlinelevel=1, text=said[-1][1]))
        for _ in range(5):
            said.append(["", text.paragraph()])
            document.text.addElement(P(text=said[-1][1]))
    document.save(path)
    return said


def epub(path, seed):
    from ebooklib import epub as library

    text = Text(seed, WORDS + OTHER)
    book = library.EpubBook()
    book.set_identifier("id")
    book.set_title("A book")
    said, chapters = [], []
    for number in range(5):
        heading, paragraphs = text.heading(), [text.paragraph() for _ in range(6)]
        chapter = library.EpubHtml(title=heading, file_name=f"chapter {number}.xhtml")
        chapter.content = f"<h1>{heading}</h1>" + "".join(f"<p>{words}</p>" for words in paragraphs)
        book.add_item(chapter)
        chapters.append(chapter)
        said.extend(["", words] for words in [heading] + paragraphs)
    book.spine = chapters
    book.add_item(library.EpubNcx())
    library.write_epub(path, book)
    return said


def html(path, seed):
    text = Text(seed, WORDS + OTHER)
    said, body = [], []

    def say(tag, words):
        said.append(["", words])
        body.append(f"<{tag}>{words}</{tag}>")

    for _ in range(6):
        say("h2", text.heading())
        for _ in range(4):
            say("p", text.paragraph())
        body.append("<ul>")
        for _ in range(3):
            say("li", text.sentence())
        body.append("</ul>")
    with open(path, "w") as file:
        file.write("<html><head><style>p{color:red}</style></head><body>" + "\n".join(body) + "</body></html>")
    return said


def eml(path, seed):
    text = Text(seed, WORDS + OTHER)
    message = email.message.EmailMessage()
    message["Subject"] = text.heading() + " Größe"
    body = "\n\n".join(text.paragraph() for _ in range(5))
    message.set_content(body)
    message.add_alternative(f"<p>{body}</p>", subtype="html")
    with open(path, "wb") as file:
        file.write(bytes(message))
    return [["message 1", message["Subject"]], ["message 1", body]]


def reportlab(path, seed, columns):
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import BaseDocTemplate, Frame, PageBreak, PageTemplate, Paragraph, Table

    text = Text(seed, LATIN)
    style = getSampleStyleSheet()
    width, height = A4
    gap, margin = 18, 60
    each = (width - 2 * margin - gap * (columns - 1)) / columns
    frames = [Frame(margin + index * (each + gap), margin, each, height - 2 * margin) for index in range(columns)]
    document = BaseDocTemplate(path, pagesize=A4)
    document.addPageTemplates([PageTemplate(frames=frames)])
    said, story = [], []
    for page in range(1, 11):
        place = f"page {page}"
        if page > 1:
            story.append(PageBreak())
        said.append([place, text.heading()])
        story.append(Paragraph(said[-1][1], style["Heading1"]))
        for _ in range(5 if columns > 1 else 6):
            said.append([place, text.paragraph(4)])
            story.append(Paragraph(said[-1][1], style["BodyText"]))
        if columns == 1:
            rows = [[text.cell() for _ in range(4)] for _ in range(5)]
            said.extend([place, cell] for row in rows for cell in row)
            story.append(Table(rows))
    document.build(story)
    return said


def fpdf(path, seed, font):
    from fpdf import FPDF

    text = Text(seed, WORDS + OTHER if font else LATIN)
    document = FPDF()
    if font:
        document.add_font("own", fname=font)
    said = []
    for page in range(1, 11):
        document.add_page()
        document.set_font("own" if font else "Times", size=11)
        for _ in range(6):
            said.append([f"page {page}", text.paragraph(4)])
            document.multi_cell(0, 6, said[-1][1])
            document.ln(3)
    document.output(path)
    return said


def pymupdf(path, seed):
    import pymupdf as library

    text = Text(seed, WORDS + OTHER)
    document = library.open()
    said = []
    for page in range(1, 11):
        sheet = document.new_page()
        paragraphs = [text.paragraph(4) for _ in range(6)]
        said.extend([f"page {page}", words] for words in paragraphs)
        body = "".join(f"<p>{words}</p>" for words in paragraphs)
        sheet.insert_htmlbox(library.Rect(50, 50, 545, 792), body)
    document.subset_fonts()
    document.save(path, garbage=3, deflate=True, use_objstms=1)
    return said


def encrypted(path, seed):
    """Forbids printing, opens without a password."""
    import pymupdf as library

    said = pymupdf(path + ".plain", seed)
    document = library.open(path + ".plain")
    document.save(path, encryption=library.PDF_ENCRYPT_AES_256, owner_pw="owner", user_pw="", permissions=0)
    os.remove(path + ".plain")
    return said


def convert(folder, sources, ending, truth, keep):
    """Has soffice save documents in another format. `keep` says what of the place is still known."""
    made = os.path.join(folder, f"soffice-{ending.split(':')[0]}")
    paths = [os.path.join(folder, name) for name in sources]
    subprocess.run(
        ["soffice", "--headless", "--convert-to", ending, "--outdir", made] + paths,
        check=True, capture_output=True, timeout=600,
    )
    for name in sources:
        stem, old = os.path.splitext(name)
        suffix = ending.split(":")[0]
        source = os.path.join(made, f"{stem}.{suffix}")
        target = f"{stem}-{old[1:]}-soffice.{suffix}"
        if os.path.exists(source):
            shutil.move(source, os.path.join(folder, target))
            truth[target] = [[keep(place), words] for place, words in truth[name]]
    shutil.rmtree(made, ignore_errors=True)


def main(folder):
    os.makedirs(folder, exist_ok=True)
    truth = {}

    def make(name, maker, *arguments):
        truth[name] = maker(os.path.join(folder, name), *arguments)

    make("word.docx", docx, 1)
    make("show.pptx", pptx, 2)
    make("openpyxl.xlsx", openpyxl, 3)
    make("xlsxwriter.xlsx", xlsxwriter, 4)
    make("xlwt.xls", xlwt, 5)
    make("odfpy.odt", odfpy, 6)
    make("book.epub", epub, 7)
    make("page.html", html, 8)
    make("mail.eml", eml, 9)
    make("reportlab-1.pdf", reportlab, 10, 1)
    make("reportlab-2.pdf", reportlab, 11, 2)
    make("fpdf-core.pdf", fpdf, 12, None)
    fonts = sorted(glob.glob("/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf"))
    if fonts:
        make("fpdf-dejavu.pdf", fpdf, 13, fonts[0])
    make("pymupdf.pdf", pymupdf, 14)
    make("encrypted.pdf", encrypted, 15)

    if shutil.which("soffice"):
        same = lambda place: place
        nowhere = lambda place: ""
        page = lambda place: place.replace("slide", "page")
        convert(folder, ["word.docx"], "odt", truth, nowhere)
        convert(folder, ["word.docx"], "rtf", truth, nowhere)
        convert(folder, ["word.docx"], "pdf", truth, nowhere)
        convert(folder, ["odfpy.odt"], "docx", truth, nowhere)
        convert(folder, ["odfpy.odt"], "pdf", truth, nowhere)
        convert(folder, ["show.pptx"], "odp", truth, same)
        convert(folder, ["show-pptx-soffice.odp"], "pptx", truth, same)
        convert(folder, ["openpyxl.xlsx"], "ods", truth, same)
        convert(folder, ["openpyxl.xlsx"], "xls:MS Excel 97", truth, same)
        convert(folder, ["openpyxl-xlsx-soffice.ods"], "xlsx", truth, same)
        spoken = {name: [pair for pair in truth["show.pptx"]] for name in ["show.pptx"]}
        # Notes are not printed.
        truth["show.pptx"] = [pair for pair in spoken["show.pptx"] if len(pair[1].split(". ")) < 2]
        convert(folder, ["show.pptx"], "pdf", truth, page)
        truth["show.pptx"] = spoken["show.pptx"]
    with open(os.path.join(folder, "truth.json"), "w") as file:
        json.dump(truth, file)


main(sys.argv[1])
