"""Tables to paste: TSV, and LaTeX that compiles whatever a run is called."""

from grading.formats.tables import Mark, PrintedTable, TextCell, marked, row, tex, tex_lines, text_lines

SHEET = PrintedTable(
    "Correlation with\nNDCG@10",
    ("Evaluation", "\N{GREATER-THAN OR EQUAL TO}", "S"),
    (
        (TextCell("a_b & c"), TextCell("4"), TextCell("0.974", Mark.BEST)),
        (TextCell("50% {x}\\y"), TextCell("5"), TextCell("0.940", Mark.TIED)),
        row("tab\there", 1, None),
    ),
    n_labels=2,
    comments=("within 0.05",),
    legend=((Mark.BEST, "the best"), (Mark.TIED, "as good")),
)


def test_text_stands_in_columns_with_signs_for_marks():
    lines = text_lines(SHEET)
    assert lines[:4] == ["Correlation with NDCG@10", "within 0.05", "*: the best, +: as good", ""]
    assert [line.split("  ")[-1].strip() for line in lines[4:]] == ["S", "0.974*", "0.940+", "\N{EN DASH}"]
    assert len({len(line) for line in lines[4:]}) == 1, "numbers end in one column"


def test_latex_escapes_and_marks():
    lines = tex_lines(SHEET)
    assert lines[:5] == [
        "% Correlation with NDCG@10",
        "% within 0.05",
        "% bold italic: the best, bold: as good",
        "% needs \\usepackage{booktabs}",
        "\\begin{tabular}{llr}",
    ]
    assert lines[6] == r"Evaluation & $\geq$ & S \\"
    assert lines[8:11] == [
        r"a\_b \& c & 4 & \textbf{\textit{0.974}} \\",
        r"50\% \{x\}\textbackslash{}y & 5 & \textbf{0.940} \\",
        r"tab here & 1 & -- \\",
    ]
    assert tex("~^$#<") == r"\textasciitilde{}\textasciicircum{}\$\#\textless{}"


def test_marks_of_a_column():
    values, as_good = [0.959, 0.95, 0.9, None], [True, True, False, False]
    assert [cell.mark for cell in marked(values, as_good)] == [Mark.BEST, Mark.TIED, "", ""]
    assert [cell.mark for cell in marked([0.5, 0.5], [True, True])] == [Mark.BEST, Mark.BEST]
    assert [cell.text for cell in marked([None, None], [False, False])] == ["\N{EN DASH}"] * 2
