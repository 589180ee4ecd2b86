// Elements, addresses and requests. Texts of the corpus become text nodes, never HTML.

const SVG = "http://www.w3.org/2000/svg";
const SHAPES = new Set(["svg", "path", "rect", "line", "polyline", "circle", "text", "g"]);

// Return an element: h("a", {href: "#x", class: "y"}, "text", another). A function as a property is an event handler.
export function h(tag, properties, ...children) {
  const shape = SHAPES.has(tag);
  const element = shape ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "vars") for (const [key, one] of Object.entries(value)) element.style.setProperty(key, one);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false));
  return element;
}

// The state of the page is its address: #RUN/VIEW?NAME=VALUE&...
export function place() {
  const [path, query] = location.hash.slice(1).split("?");
  const [run, view] = path.split("/");
  return {run: run || "0", view: view || "suspicions", given: Object.fromEntries(new URLSearchParams(query || ""))};
}

export function address(view, given, run) {
  const named = Object.entries(given || {}).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const query = new URLSearchParams(named).toString();
  return `#${run === undefined ? place().run : run}/${view}${query ? `?${query}` : ""}`;
}

// Return the address of the same view with other parameters; the first page, unless a page is given.
export function changed(given) {
  const now = place();
  return address(now.view, {...now.given, page: "", ...given});
}

export function link(to, ...children) {
  return h("a", {href: to}, ...children);
}

const waiting = {};

// Return what the server answers; a new request of the same kind ends the one before.
export async function ask(view, given, run) {
  const named = Object.entries(given || {}).filter(([, value]) => value !== "" && value !== undefined);
  const path = `${run === undefined ? place().run : run}/${view}?${new URLSearchParams(named)}`;
  if (waiting[view]) waiting[view].abort();
  const mine = waiting[view] = new AbortController();
  const reply = await fetch(path, {signal: mine.signal});
  if (waiting[view] === mine) delete waiting[view];
  const found = reply.headers.get("Content-Type") === "application/json" ? await reply.json() : {error: await reply.text()};
  if (!reply.ok) throw new Error(found.error);
  return found;
}

const followed = new Set();

// Return what the server answers after long work. `tell` gets its progress, and `part` each part of the answer. The work
// ends when the page shows something else.
export async function follow(view, given, tell, part) {
  const named = Object.entries(given || {}).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  const mine = new AbortController();
  followed.add(mine);
  try {
    const reply = await fetch(`${place().run}/follow/${view}?${new URLSearchParams(named)}`, {signal: mine.signal});
    if (!reply.ok) throw new Error((await reply.json()).error);
    const lines = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = "", end = -1; ;) {
      const {value, done} = await lines.read();
      if (done) throw new Error("the server ended the connection");
      rest += value;
      while ((end = rest.indexOf("\n")) >= 0) {
        const line = JSON.parse(rest.slice(0, end));
        rest = rest.slice(end + 1);
        if (line.error) throw new Error(line.error);
        if (line.progress && tell) tell(line.progress);
        if (line.part && part) part(line.part);
        if (line.result) return line.result;
      }
    }
  } finally {
    followed.delete(mine);
  }
}

// End all long work that the page follows.
export function endFollowed() {
  for (const one of followed) one.abort();
}

// An element that shows the progress of long work, and a function that changes it.
export function progress() {
  const bar = h("progress", {"aria-label": "Progress"}), words = h("span", {}), element = h("p", {class: "note working", role: "status", hidden: true}, words, " ", bar);
  const tell = ({label, done, total}) => {
    element.hidden = false;
    words.textContent = label ? `${label}: ${percent(done, total || 1)}` : percent(done, total || 1);
    [bar.max, bar.value] = [total || 1, done];
  };
  const end = (message) => { element.hidden = !message; element.replaceChildren(message || ""); };
  return {element, tell, end};
}

export const number = (n) => n === null || n === undefined ? "" : Math.round(n).toLocaleString("en");
export const digits = (n) => n === null || n === undefined ? "" : Number(n.toPrecision(4)).toString();
export const plural = (n, what) => `${number(n)} ${what}${n === 1 ? "" : "s"}`;

export function size(n) {
  if (n === null || n === undefined) return "";
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (n >= 999.5 && unit < units.length - 1) [n, unit] = [n / 1000, unit + 1];
  return unit === 0 ? plural(n, "byte") : `${Number(n.toPrecision(3))} ${units[unit]}`;
}

export function percent(n, of) {
  const share = of ? n / of : 0;
  if (share === 0 || share === 1 || (share >= 0.01 && share <= 0.99)) return `${Math.round(100 * share)}%`;
  return `${(100 * share).toFixed(share >= 0.001 && share <= 0.999 ? 1 : 2)}%`;
}

// A name of the corpus: its direction does not change that of the words next to it.
export const name = (text) => h("bdi", {class: "name", title: text.length > 60 ? text : null}, text.length > 60 ? `${text.slice(0, 59)}…` : text);

export function section(title, ...children) {
  return h("section", {}, h("h2", {}, title), ...children);
}

// A table; heads are texts, or {text, sort, order}, where the address of `sort` sorts by it.
export function table(caption, heads, rows, style) {
  const tops = heads.map((head) => {
    const one = typeof head === "string" || head instanceof Node ? {text: head} : head;
    const inside = one.sort === undefined ? one.text : link(one.sort, one.text);
    return h("th", {scope: "col", "aria-sort": one.order || null}, inside);
  });
  const body = rows.map((cells) => h("tr", {}, cells.map((cell, i) => {
    const made = i === 0 ? h("th", {scope: "row"}, cell) : cell instanceof HTMLTableCellElement ? cell : h("td", {}, cell);
    made.dataset.of = tops[i].textContent;  // on a small screen, where the heads are not shown
    return made;
  })));
  const inside = h("table", {class: style || null}, h("caption", {class: "unseen"}, caption), h("thead", {}, h("tr", {}, tops)), h("tbody", {}, body));
  return h("div", {class: "card"}, h("div", {class: "scroll", tabindex: "0", role: "group", "aria-label": caption}, inside));
}

export function tiles(pairs) {
  return h("dl", {class: "tiles"}, pairs.map(([figure, what]) => h("div", {}, h("dt", {}, what), h("dd", {}, figure))));
}

// Code with a button that copies it.
export function copied(code) {
  const copy = async (event) => { await navigator.clipboard.writeText(code); event.target.textContent = "copied"; };
  return h("p", {class: "code"}, h("code", {}, code), " ", h("button", {click: copy}, "copy"));
}

export function pager(total, rows, page) {
  if (total <= rows) return h("p", {class: "note pager"}, plural(total, "row"));
  const last = Math.ceil(total / rows) - 1;
  const step = (to, text) => to < 0 || to > last ? h("span", {class: "off"}, text) : link(changed({page: to || ""}), text);
  const first = page * rows + 1;
  const shown = `${number(first)} to ${number(Math.min(total, first + rows - 1))} of ${number(total)}`;
  return h("p", {class: "note pager"}, step(page - 1, "← before"), h("span", {}, shown), step(page + 1, "next →"));
}

// Links to the rows of a list as files.
export function files(list, given) {
  const query = (as, texts) => new URLSearchParams({...(given || place().given), list, as, ...(texts ? {texts: "1"} : {})});
  const to = (as, texts, words) => h("a", {href: `${place().run}/export?${query(as, texts)}`, download: true}, words);
  const more = list === "drops" || list === "changes" ? [" · ", to("parquet", true, "Parquet with texts"), " · ", to("jsonl", true, "JSON Lines with texts")] : [];
  return h("p", {class: "note"}, "All rows as a file: ", to("parquet", false, "Parquet"), " · ", to("jsonl", false, "JSON Lines"), ...more);
}

// A control that changes one parameter of the address.
export function select(label, parameter, options, fallback) {
  const value = place().given[parameter] || fallback || "";
  const known = options.some(([one]) => one === value) ? options : [...options, [value, value]];
  const items = known.map(([one, text]) => h("option", {value: one, selected: one === value}, text));
  const change = (event) => { location.hash = changed({[parameter]: event.target.value}); };
  return h("label", {}, h("span", {}, label), h("select", {change, "data-for": parameter}, items));
}

export function field(label, parameter, type, more) {
  const change = (event) => { location.hash = changed({[parameter]: event.target.value}); };
  const value = place().given[parameter] || "";
  return h("label", {}, h("span", {}, label), h("input", {type, value, change, "data-for": parameter, ...more}));
}

export function check(label, parameter) {
  const change = (event) => { location.hash = changed({[parameter]: event.target.checked ? "1" : ""}); };
  return h("label", {class: "check"}, h("input", {type: "checkbox", change, checked: Boolean(place().given[parameter]), "data-for": parameter}), h("span", {}, label));
}

export const controls = (...inside) => h("div", {class: "controls", role: "group", "aria-label": "Filters"}, ...inside);

// A text of the corpus.
export function text(content, missing) {
  if (content === null) return h("p", {class: "missing"}, missing || "The text cannot be shown: it is hidden, was forgotten, or was not saved.");
  return h("div", {class: "text", dir: "auto", tabindex: "0", role: "group", "aria-label": "Text"}, content || h("i", {}, "an empty text"));
}

// Fill elements with the attribute data-title with the beginnings of the documents' texts.
export async function fillTitles(root) {
  const empty = [...root.querySelectorAll("[data-title]")];
  const ids = [...new Set(empty.map((one) => one.dataset.title))];
  if (!ids.length) return;
  const {titles} = await ask("titles", {ids: ids.join(",")});
  for (const one of empty) {
    const found = titles[one.dataset.title];
    one.replaceChildren(found ? found.text.replace(/\s+/g, " ") : h("i", {}, "no text"));
  }
}

export const title = (id) => h("span", {class: "title", dir: "auto", "data-title": id}, "…");
