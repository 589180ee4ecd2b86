"""The article of a page: what is kept and what is removed, in several scripts, and pages that are no articles."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("resiliparse")
from resiliparse.extract.html2text import extract_plain_text

from dataprep.read.html import Html
from dataprep.read.web.article import article

TEXTS = {
    "en": "The harbour was quiet in the morning, and the boats came in one after the other with the tide.",
    "fr": "Le port était calme au matin, et les bateaux rentraient l'un après l'autre avec la marée.",
    "ar": "كان الميناء هادئا في الصباح، وعادت القوارب واحدا تلو الآخر مع المد.",
    "fa": "بندر صبح آرام بود و قایق‌ها یکی پس از دیگری با مد دریا بازگشتند.",
    "hi": "सुबह बंदरगाह शांत था, और नावें ज्वार के साथ एक के बाद एक लौट आईं।",
    "ja": "朝の港は静かで、船は潮に乗って次々と帰ってきました。市場には魚が並びました。",
    "ko": "아침 항구는 조용했고 배들은 밀물을 따라 하나둘 돌아왔습니다.",
    "ru": "Утром гавань была тиха, и лодки возвращались одна за другой с приливом.",
    "th": "ท่าเรือเงียบสงบในตอนเช้า และเรือก็กลับเข้ามาทีละลำพร้อมกับน้ำขึ้น",
    "zh": "清晨的港口很安静，船只随着潮水一艘接一艘地回来，市场上摆满了鱼。",
}
BEFORE = (
    '<div class="notice"><p>This site uses cookies to make your visit better. <a href="/c">Accept them all</a> now.</p>'
    '</div><nav><a href="/">Home</a></nav>'
)
AFTER = (
    '<div class="more"><h3>Elsewhere</h3><p>A short summary of another story that has nothing to do with it.</p></div>'
    '<div id="comments"><p>{}</p></div><footer>Imprint</footer>'
)


EN = TEXTS["en"]
PARAGRAPHS = f"<p>{EN}</p>" * 9


def page(inner: str, before: str = BEFORE, after: str = "") -> str:
    """HTML with boilerplate around an article."""
    return f"<html><body>{before}<main><article><h1>A day at sea</h1>{inner}</article></main>{after}</body></html>"


@pytest.mark.parametrize("language", TEXTS)
def test_every_paragraph_is_kept_and_nothing_around_them(language) -> None:
    """In any script; the notice, the other story and the comments, which are longer than the article, are removed."""
    text = TEXTS[language]
    paragraphs = [f"{i}. {text}" for i in range(20)]
    found = article(page("".join(f"<p>{p}</p>" for p in paragraphs), after=AFTER.format(text * 30)))
    assert [line for line in found.split("\n") if line] == ["A day at sea", *paragraphs]


@pytest.mark.parametrize("language", TEXTS)
def test_lines_that_br_separates(language) -> None:
    """Text without paragraphs is found too."""
    lines = [f"{i}. {TEXTS[language]}" for i in range(20)]
    found = article(
        page(f"<div>{'<br>'.join(lines)}</div>", before="", after='<div class="x"><h3>Elsewhere</h3></div>')
    )
    assert [line for line in found.split("\n") if line] == ["A day at sea", *lines]


def test_structure_is_kept() -> None:
    """Headings, lists, tables, code, formulas, quotes and posts quoted from a social network stay, in their order."""
    text = EN
    parts = {
        f"<p>{text}</p>": text,
        "<h2>Boats</h2>": "Boats",
        "<ul><li>the first boat is red</li><li>the second boat is blue</li></ul>": "  • the first boat is red",
        "<ol><li>cast off</li><li>set the sail</li></ol>": "  1. cast off",
        "<table><tr><th>boat</th><th>crew</th></tr><tr><td>red</td><td>12</td></tr></table>": "red\t\t12",
        "<pre><code>for boat in fleet:\n    sail(boat)</code></pre>": "    sail(boat)",
        "<p>Its speed is <math><mi>v</mi><mo>=</mo><mn>7</mn></math> on most of the days of the year.</p>": "v=7",
        f"<blockquote><p>2 {text}</p></blockquote>": f"2 {text}",
        f'<blockquote class="twitter-tweet"><p>3 {text}</p></blockquote>': f"3 {text}",
        f"<p>4 {text}</p>": f"4 {text}",
    }
    found = article(page("".join(parts)))
    at = [found.find(part) for part in parts.values()]
    assert -1 not in at
    assert at == sorted(at)


@pytest.mark.parametrize(
    "part",
    [
        "<figure><img src=x><figcaption>{}</figcaption></figure>",
        '<div class="newsletter-box"><p>{}</p></div>',
        '<aside class="article-related"><p>{}</p></aside>',
        '<p class="photo-caption">{}</p>',
        '<p><a href="/x">{}</a></p>',
        '<p>► <a href="/x">{}</a></p>',
    ],
)
def test_parts_that_are_no_text(part) -> None:
    """Captions, forms, and links to other articles are removed from between the paragraphs."""
    paragraph = f"<p>{EN * 2}</p>"
    found = article(page(paragraph * 2 + part.format("Boats of the north return at last") + paragraph * 2))
    assert found.count("harbour") == 8
    assert "return at last" not in found


@pytest.mark.parametrize("name", ["shareholders", "vintagestyles", "pollen", "creditor", "outdated"])
def test_names_are_whole_words(name) -> None:
    """A class that only contains the letters of such a word says nothing."""
    paragraph = f"<p>{EN * 2}</p>"
    found = article(
        page(paragraph * 4 + f'<p class="{name}">The meeting of that year was long and loud.</p>' + paragraph)
    )
    assert "long and loud" in found


def test_a_name_of_the_whole_article_removes_nothing() -> None:
    """A large element is not removed for its class."""
    inner = f'<div class="with-related caption">{PARAGRAPHS}</div>'
    assert article(page(inner)).count("harbour") == 9


def test_the_introduction_before_the_article_is_kept() -> None:
    """What is between the heading and the element of the article stays, and what precedes the heading does not."""
    body = f'<div class="article-body">{PARAGRAPHS}</div>'
    head = "<div><p>The old lines are no longer in use, since the new harbour.</p><h1>Harbour</h1>"
    intro = "<div><p>The boats of the north came home early, and everyone in the town went to see them.</p></div></div>"
    found = article(
        f"<html><body>{head}{intro}<div>{body}<p>Another short story of the day, told in one line.</p></div>"
    )
    lines = [line for line in found.split("\n") if line]
    assert (lines[0], lines[1][:9], len(lines)) == ("Harbour", "The boats", 11)


def test_all_posts_of_a_page_are_kept() -> None:
    """On a page of equal posts none of them is the article; questions and answers stay together."""
    post = '<div class="post"><h3>User {0}</h3><div class="text"><p>{0}. {1}</p><p>{0}! {1}</p></div></div>'
    posts = "".join(post.format(i, EN) for i in range(12))
    found = article(f"<html><body><h1>How do boats come home?</h1><main>{posts}</main></body></html>")
    assert found.count("harbour") == 24


def test_comments_by_choice() -> None:
    """comments=True keeps them."""
    text = page(PARAGRAPHS, after=f'<div id="comments"><p>Well said! {EN}</p></div>')
    found = {comments: Html(comments=comments).page(text.encode()).text.decode() for comments in (None, False, True)}
    assert found[None] == found[False]
    assert ("Well said" in found[None], found[None].count("harbour")) == (False, 9)
    assert article(page(PARAGRAPHS), comments=True).count("harbour") == 9


@pytest.mark.parametrize(
    "text",
    ["<p>Short.</p>", "", "plain", "<ul><li>a</li></ul>", "<table><tr><td>1</td></tr></table>", "<body><frameset>"],
)
def test_pages_without_paragraphs_are_resiliparses(text) -> None:
    """A page with little text, or a list or a table only, has the text that Resiliparse alone extracts."""
    for html in (text, page(text)):
        assert article(html) == extract_plain_text(html, main_content=True, comments=False)


@pytest.mark.parametrize(
    "end",
    [
        "<table><tr><td>red</td><td>12</td></tr></table>", "<ul><li>red</li></ul>", "<pre>x = [\n  red\n]</pre>",
        "".join(f"<p>red {i}</p>" for i in range(9)),
    ],
)  # fmt: skip
def test_ends_that_are_no_sentences(end) -> None:
    """A table, a list, code or many short lines at an end of the page are kept; a few short lines there are not."""
    for inner in (PARAGRAPHS + end, end + PARAGRAPHS):
        found = article(page(inner, before=""))
        assert found.count("red") == end.count("red")
        assert found.count("harbour") == 9
    found = article(page(f"<p>12 June</p>{PARAGRAPHS}<p>12 shares</p>", before=""))
    assert (found[:12], found.count("12")) == ("A day at sea", 0)


@pytest.mark.parametrize("tag", ["blockquote", "section><br"])
def test_nested_elements_cost_little(tag) -> None:
    """The texts of many elements, each inside of the other, are not all looked at: that would take many seconds."""
    html = f"<body>{f'<{tag}>{EN}' * 15_000}<p>{EN}</p>"
    start = time.process_time()
    assert article(html) == extract_plain_text(html, main_content=True, comments=False)
    assert time.process_time() - start < 2
