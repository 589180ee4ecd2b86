"""Extract the article of a web page: Resiliparse's main content, without the elements around the paragraphs.

Resiliparse leaves out navigation, footers and sidebars by their names, but keeps captions, links to other articles,
forms, notices and comments. These steps remove them from the parsed page before it extracts the text:

1. Comments are removed: the outermost elements with paragraphs whose class or id is `comments` or similar.
2. The innermost element with at least 90 % of the text in paragraphs is chosen, or one in it that is named
   `article-body` or similar and has at least 60 %. Everything outside the chosen element is removed, except the last
   first-level heading before it and the content between the two. On a page with many posts, the chosen element contains
   all of them.
3. Small elements in it are removed if their class has a word such as `newsletter`; so are captions, and paragraphs
   whose text is links.

Then up to five short lines before the first sentence and after the last are removed. Sizes of texts are bytes in UTF-8,
so Arabic and Chinese paragraphs need fewer letters than English ones. For a page with little text in paragraphs,
Resiliparse's text is returned unchanged; so it is for a page whose elements are nested so deeply that these steps would
be slow.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from dataprep.errors import need

SHARE, NAMED_SHARE = 0.9, 0.6  # of the text in paragraphs that the article contains
MIN_PARAGRAPH, MIN_TEXT = 40, 200  # bytes of a paragraph that counts, and of all of them together
MAX_PART = 0.25  # of the text in paragraphs: a larger element is not removed for its name
TEXTS = 8  # a page is given up if the texts of the elements that are looked at are so many times as long as the page
DEPTH = 3  # elements around an article
LINKS = 0.8  # share of links in the text of a paragraph that is removed
FEW = 250  # characters; shorter results are compared with those of Resiliparse alone
LONG, SENTENCE, SHORT = 80, 30, 25  # bytes of a line, of one that ends like a sentence, and of a line before these
MAX_TRIMMED = 5  # so many short lines are not part of an article; more may be a poem or a list
FEW_PARAGRAPHS = 1_500  # only in pages with less text in paragraphs, lines that `br` separates are looked for
PARAGRAPHS = "p,pre,blockquote,td,dd"
# In the benchmark, results are worse with "teaser" and "widget", which also name parts of articles.
NAMES = (
    "advert", "alert", "also-read", "article-meta", "author", "breadcrumb", "byline", "caption", "category", "comment",
    "consent", "cookie", "copyright", "credit", "date", "disclaimer", "donate", "donation", "entry-meta", "footer",
    "gdpr", "modal", "more-from", "most-popular", "mostpopular", "newsletter", "paywall", "photo", "poll", "popular",
    "popup", "post-meta", "promo", "read-more", "readmore", "recirc", "recommend", "related", "share", "sign-up",
    "signup", "social", "sponsor", "subscribe", "tags", "toolbar", "tooltip", "trending",
)  # fmt: skip
TAGS = ("figcaption", "footer", "header")
_NAMED = ",".join((*TAGS, *(f'[class*="{name}"]' for name in NAMES)))
_NAME = re.compile(rf"(?<![a-z])(?:{'|'.join(NAMES)})(?:s|box|ed|ing)?(?![a-z])")
_COMMENTS = re.compile(
    r" (?:(?:[a-z]{1,9}[-_]{1,2})?comments?(?:[-_]{0,2}(?:list|section|area|wrap(?:per)?|container|block|box|thread|"
    r"feed|respond|tree))?|respond|disqus[a-z_-]*|livefyre[a-z_-]*) ",
    re.IGNORECASE,
)
_ARTICLE = re.compile(
    r" (?:(?:[a-z]+-)?(?:entry|post|article|story|content)[-_]{0,2}(?:content|body|text|entry)|entry|body-copy|"
    r"rich-text|articlebody[a-z_]*) ",
    re.IGNORECASE,
)
_END = re.compile(r"[.!?:;…。！？؟۔।”»’\"')\]]\s*$")


class _TooCostlyError(Exception):
    """Raised if the texts of the elements of a page are many times as long as the page."""


class _Body:
    """The body of a parsed page, and the remaining number of characters of its elements that may be examined."""

    def __init__(self, tree: Any, left: int) -> None:
        self.tree, self.element, self.left = tree, tree.body, left

    def all(self, selectors: str) -> list[Any]:
        return self.element.query_selector_all(selectors).values()  # type: ignore[no-any-return]

    def size(self, element: Any) -> int:
        """Return the bytes of the text of an element in UTF-8."""
        text = element.text
        self.left -= len(text)
        if self.left < 0:
            raise _TooCostlyError
        return len(text) if text.isascii() else len(text.encode())


def article(page: str, *, comments: bool = False, **options: Any) -> str:
    """Return the text of the article of a page of HTML.

    - comments: whether comments are kept.
    - options: as for Resiliparse's extract_plain_text.
    """
    options["main_content"] = True
    extract, tree = resiliparse(), _parse()(page)
    if tree.body is None:
        return str(extract(page, **options))
    body = _Body(tree, TEXTS * len(page))
    try:
        if 'twitter-tweet"' in page:
            for quote in body.all("blockquote.twitter-tweet"):
                quote.class_name = ""  # Resiliparse takes it for a link to social media
        is_found = _keep_article(body, comments=comments)
        if is_found:
            _remove_named(body)
            _remove_links(body)
    except _TooCostlyError:
        return str(extract(page, **options))
    text = str(extract(tree, **options))
    text = _trimmed(text, body) if is_found else text
    if len(text) < FEW:
        whole = str(extract(page, **options))
        return whole if len(whole) > 2 * len(text) else text
    return text


def _keep_article(body: _Body, *, comments: bool) -> bool:
    """Remove comments and everything outside of the article; return whether an article was found."""
    sizes = _paragraphs(body)
    around, depth = dict[Any, Any](), {body.element: 0}
    for element in sizes:
        chain = [element]
        while chain[-1] not in depth:
            chain.append(chain[-1].parent)
        for inner, outer in zip(chain[-2::-1], chain[:0:-1], strict=True):
            around[inner], depth[inner] = outer, depth[outer] + 1
    order = sorted(around, key=depth.__getitem__)
    removed, hidden = list[Any](), set[Any]()
    for element in order:
        if around[element] in hidden:
            hidden.add(element)
        elif not comments and _is_comments(element):
            hidden.add(element)
            removed.append(element)
    sums = {element: sizes.get(element, 0) if element not in hidden else 0 for element in (body.element, *order)}
    for element in reversed(order):
        sums[around[element]] += sums[element]
    for element in removed:
        element.decompose()
    total = sums[body.element]
    if total < MIN_TEXT:
        return bool(removed)
    found = max((e for e, n in sums.items() if n >= SHARE * total), key=depth.__getitem__)
    named = (e for e, n in sums.items() if n >= NAMED_SHARE * total and depth[e] > depth[found] and _is_article(e))
    _keep(body, max(named, key=depth.__getitem__, default=found))
    return True


def _paragraphs(body: _Body) -> dict[Any, int]:
    """Return the bytes of text in paragraphs, and in lines that only `br` separates, of each element that has any.

    The paragraphs of elements inside of an element are not added to its own.
    """
    sizes: dict[Any, int] = {}
    for paragraph in body.all(PARAGRAPHS):
        size = body.size(paragraph)
        if size >= MIN_PARAGRAPH and (paragraph.tag == "p" or paragraph.query_selector("p,td,dd") is None):
            parent = paragraph.parent
            sizes[parent] = sizes.get(parent, 0) + size
    if sum(sizes.values()) < FEW_PARAGRAPHS:
        for line in body.all("div>br,span>br,section>br,article>br"):
            parent = line.parent
            if parent not in sizes and (size := body.size(parent)) >= MIN_TEXT:
                sizes[parent] = size
    return sizes


def _is_comments(element: Any) -> bool:
    return _COMMENTS.search(_names(element)) is not None and element.query_selector("h1,article") is None


def _is_article(element: Any) -> bool:
    return element.get_attribute("itemprop") == "articleBody" or _ARTICLE.search(_names(element)) is not None


def _names(element: Any) -> str:
    return f" {element.id or ''} {element.class_name or ''} "


def _keep(body: _Body, article: Any) -> None:
    """Remove everything outside of an article, except the last `h1` before it and the content between the two."""
    is_complete = article.tag == "h1" or article.query_selector("h1") is not None
    is_complete = is_complete or body.element.query_selector("h1") is None
    element = article
    while element != body.element:
        kept = [element]
        while not is_complete and (before := kept[-1].previous_element_sibling) is not None:
            kept.append(before)
            heading = before if before.tag == "h1" else before.query_selector("h1")
            if heading is not None:
                is_complete = True
                _remove_before(heading, before)
        outer = element.parent
        outer.replace_children(*(reversed(kept) if is_complete else (element,)))
        element.class_name = ""  # Resiliparse would leave out what is beside an element named `article-body`
        element = outer
    for _ in range(DEPTH):  # less deep, it takes any list for navigation
        inner = body.tree.create_element("div")
        inner.replace_children(*element.child_nodes.values())
        element.replace_children(inner)


def _remove_before(node: Any, top: Any) -> None:
    """Remove what precedes a node in the element `top`."""
    while node != top:
        while (before := node.previous_sibling) is not None:
            before.decompose() if hasattr(before, "decompose") else before.remove()
        node = node.parent


def _remove_named(body: _Body) -> None:
    """Remove captions, and small elements whose class states that they are not part of an article."""
    most = MAX_PART * sum(map(body.size, body.all("p")))
    for element in body.all(_NAMED):
        tag, name = element.tag, element.class_name
        is_named = tag in TAGS or (name and _NAME.search(name))
        if is_named and body.size(element) < most and not (tag == "header" and element.query_selector("h1")):
            element.decompose()


def _remove_links(body: _Body) -> None:
    """Remove paragraphs whose text is links."""
    for paragraph in body.all("p"):
        links = paragraph.query_selector_all("a").values()
        if links and sum(map(body.size, links)) >= LINKS * body.size(paragraph):
            paragraph.decompose()


def _trimmed(text: str, body: _Body) -> str:
    """Return a text without a few short lines before its first sentence, except headings, and after its last one.

    Lists, tables and indented code count as sentences.
    """
    lines = text.split("\n")
    sizes = [len(line.strip().encode()) for line in lines]
    good = [i for i, n in enumerate(sizes) if n >= LONG or (n >= SENTENCE and _END.search(lines[i]))]
    good += [i for i, n in enumerate(sizes) if n and (lines[i].startswith("  ") or "\t" in lines[i].strip())]
    if not good:
        return text
    first, end = min(good), max(good) + 1
    if 0 < sum(map(bool, sizes[:first])) <= MAX_TRIMMED:
        titles = {" ".join(heading.text.split()) for heading in body.all("h1")}
        before = [f"{lines[i]}\n" for i in range(first) if sizes[i] >= SHORT or lines[i] in titles]
    else:
        before = lines[:first]
    after = lines[end:] if sum(map(bool, sizes[end:])) > MAX_TRIMMED else []
    return "\n".join([*before, *lines[first:end], *after])


@cache
def _parse() -> Any:
    return need("resiliparse.parse.html", extra="warc").HTMLTree.parse


@cache
def resiliparse() -> Any:
    """Return the function of Resiliparse that extracts the text of a page."""
    return need("resiliparse.extract.html2text", extra="warc").extract_plain_text
