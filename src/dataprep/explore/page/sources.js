// What each stage left, in documents and in text; and each source by stage and reason.
import {address, ask, changed, controls, field, files, h, link, name, number, pager, percent, section, select, size, table} from "./dom.js";

const ROWS = 100;
const UNITS = {docs: "documents", bytes: "bytes", tokens: "tokens, estimated"};

const unseen = (text) => h("span", {class: "unseen"}, text);
const variables = (style) => Object.fromEntries(style.split(";").map((one) => one.split(":")));

function wedge(came, left) {
  const [a, b] = [100 * came, 100 * left];
  return h("svg", {class: "wedge", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true"},
    h("path", {class: "lost", d: `M0,0 H${a} V10 H0 Z`}), h("path", {class: "kept", d: `M0,0 H${a} L${b},10 H0 Z`}));
}

function funnel(about) {
  const widest = (unit) => Math.max(1, ...about.stages.flatMap((one) => [one.in[unit], one.out[unit]]));
  const [docs, bytes] = [widest("docs"), widest("bytes")];
  const rows = about.stages.map((one) => {
    const why = one.dropped.map((of) => h("span", {class: "lost-text"}, "−", link(address("drops", {stage: one.stage, reason: of.reason}), number(of.docs), " ", name(of.reason)), `, ${size(of.bytes)}`));
    if (one.cut) why.push(h("span", {class: "cut-text"}, `−${size(one.cut)} cut out of texts`));
    return [h("span", {}, h("b", {}, name(one.stage)), h("span", {class: "why"}, why)),
      h("td", {class: "shape"}, wedge(one.in.docs / docs, one.out.docs / docs)), number(one.out.docs),
      h("td", {class: "shape"}, wedge(one.in.bytes / bytes, one.out.bytes / bytes)), size(one.out.bytes)];
  });
  return table("What each stage left", ["stage", unseen("share of documents"), "documents", unseen("share of text"), "text"], rows, "stages");
}

export async function sources(given, about) {
  const found = await ask("matrix"), per = about.bytes_per_token;
  const unit = given.unit in UNITS && (given.unit !== "tokens" || per) ? given.unit : "docs";
  const amount = (docs, bytes) => unit === "docs" ? docs : unit === "bytes" ? bytes : bytes / per;
  const shown = unit === "bytes" ? size : number;
  const rows = found.sources.map((one) => {
    const cells = found.columns.map(() => 0);
    for (const [i, docs, bytes] of one.removed) cells[i] = amount(docs, bytes);
    return {source: one.source, read: amount(one.read.docs, one.read.bytes), kept: amount(one.kept.docs, one.kept.bytes), cells};
  });
  const sum = (cells) => Math.max(0, cells.reduce((a, b) => a + b, 0));  // not read - kept: what is kept may count several times
  const columns = found.columns.map((one, i) => ({...one, i, total: amount(one.docs, one.bytes)})).filter((one) => one.total);
  const key = given.sort || "lost", down = given.order !== "up";
  const value = (row) => ({source: row.source, read: row.read, kept: row.kept, lost: sum(row.cells)})[key] ?? row.cells[Number(key)] ?? 0;
  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1);
  const only = given.only || "", part = (given.filter || "").toLowerCase();
  const chosen = rows.filter((row) => (!only || row.source === only) && row.source.toLowerCase().includes(part));
  chosen.sort((a, b) => compare(value(a), value(b)));
  const head = (text, sort) => ({text, sort: changed({sort, order: key === sort && down ? "up" : ""}), order: key !== sort ? null : down ? "descending" : "ascending"});
  const heads = [head("source", "source"), head("read", "read"), head("kept", "kept"), head("removed", "lost"),
    ...columns.map((one) => head(h("span", {class: "column"}, h("i", {class: "reason", vars: variables(one.style)}), name(one.stage), ": ", h("br"), name(one.reason)), String(one.i)))];
  const cell = (n, whole, to) => h("td", {class: n ? "share" : null, vars: {"--s": whole ? (n / whole).toFixed(3) : 0}}, n ? to ? link(to, shown(n)) : shown(n) : "");
  const list = (row) => [name(row.source), shown(row.read), h("td", {}, shown(row.kept), " ", h("small", {}, percent(row.kept, row.read))), cell(sum(row.cells), row.read),
    ...columns.map((one) => cell(row.cells[one.i], row.read, one.docs ? address("drops", {stage: one.stage, reason: one.reason, source: row.source}) : null))];
  const [read, kept] = [found.read, found.kept].map((one) => amount(one.docs, one.bytes));
  const total = [h("b", {}, "all sources"), shown(read), h("td", {}, shown(kept), " ", h("small", {}, percent(kept, read))), cell(sum(columns.map((one) => one.total)), read),
    ...columns.map((one) => cell(one.total, read, one.docs ? address("drops", {stage: one.stage, reason: one.reason}) : null))];
  const page = Number(given.page || 0), visible = chosen.slice(page * ROWS, page * ROWS + ROWS);
  const orders = [["lost", "most removed first"], ["read", "largest first"], ["kept", "most kept first"], ["source", "by name, last first"], ...columns.map((one) => [String(one.i), `by ${one.stage}: ${one.reason}`])];
  const units = Object.entries(UNITS).filter(([one]) => one !== "tokens" || per);
  return [
    section("Stages", h("p", {}, "Each row is a stage. The blue shapes narrow by the documents that it dropped, and by the text that it dropped or cut."), funnel(about)),
    section("Sources", h("p", {}, "What each stage and reason removed from each source; a darker cell is a larger share of the source. A number opens the documents."),
      controls(select("unit", "unit", units, "docs"), select("order", "sort", orders, "lost"), field("source contains", "filter", "search"), only ? link(changed({only: ""}), "all sources") : null),
      table("Sources by stage and reason", heads, [total, ...visible.map(list)], "heat"), pager(chosen.length, ROWS, page), files("sources")),
  ];
}
