// Dropped documents as a list; and one document: each decision about it, each cut, its text.
import {address, ask, digits, files, fillTitles, h, link, name, number, pager, place, plural, section, select, size, table, text, title} from "./dom.js";
import {filters, head} from "./clusters.js";
import {pair} from "./pair.js";

const ROWS = 25;

export async function drops(given, about) {
  const found = await ask("drops", {...given, rows: ROWS});
  const rows = found.drops.map((one) => [
    link(address("document", {id: one.id}), one.id), h("td", {class: "wide"}, title(one.id)), one.source === null ? "" : name(one.source),
    h("td", {class: "wide"}, name(`${one.stage}: ${one.reason}`)), one.similarity === null ? "" : one.similarity.toFixed(3),
    h("td", {}, digits(one.value), " ", one.label === null ? "" : name(one.label)), size(one.bytes)]);
  const heads = [head("document", "id", "id"), "text", head("source", "source"), head("dropped by", "stage"), head("similarity", "similarity"), head("value", place().given.sort === "value" ? "value_down" : "value"), head("size", "bytes")];
  const list = table("Dropped documents", heads, rows, "list");
  fillTitles(list).catch(() => {});
  return section("Dropped documents", h("p", {}, `${plural(found.total, "document")}, ${size(found.bytes)} of text.`),
    filters(about, select("order", "sort", [["id", "by id"], ["chance", "by chance"], ["similarity", "least similar first"], ["value", "smallest value first"], ["value_down", "largest value first"], ["bytes", "largest first"], ["source", "by source"], ["stage", "by stage"]], "id")),
    list, pager(found.total, ROWS, Number(given.page || 0)), files("drops"));
}

function step(one) {
  const value = [one.label === null ? null : name(one.label), one.value === null ? null : digits(one.value)].filter(Boolean);
  const kept = one.duplicate_of === null ? [] : [" for ", one.duplicate_of_dataset ? `${one.duplicate_of} of ${one.duplicate_of_dataset}` : link(address("document", {id: one.duplicate_of}), one.duplicate_of)];
  return h("li", {}, one.id, " was dropped by ", h("b", {}, name(`${one.stage}: ${one.reason}`)), ...kept, one.similarity === null ? "" : `, similarity ${one.similarity.toFixed(3)}`,
    value.length ? [" (", value.flatMap((of, i) => i ? [" ", of] : [of]), ")"] : "", h("small", {}, " ", name(one.folder)));
}

function cuts(stage) {
  const pieces = stage.cuts.map((one) => h("div", {class: "sample"}, h("h3", {}, one.rule ? name(one.rule) : "cut", ` bytes ${number(one.start)} to ${number(one.end)}`,
    one.duplicate_of === null ? "" : [", first occurs in ", one.duplicate_of_dataset ? `${one.duplicate_of} of ${one.duplicate_of_dataset}` : link(address("document", {id: one.duplicate_of}), one.duplicate_of)]),
    text(one.text === null ? null : [one.before, h("del", {}, one.text), one.after], "The text is private, or is not available.")));
  const more = stage.n > stage.cuts.length ? h("p", {class: "note"}, `and ${number(stage.n - stage.cuts.length)} more`) : null;
  return h("details", {class: "card", open: true}, h("summary", {}, h("b", {}, name(stage.stage)), ` cut ${plural(stage.n, "span")}, ${size(stage.bytes)}`), pieces, more);
}

function shard(one) {
  return h("p", {}, "In the token shard ", name(one.shard), " of ", name(one.folder), `: tokens ${number(one.start)} to ${number(one.stop)}, ${plural(one.stop - one.start, "token")}${one.near.length ? ", next to " : ""}`,
    one.near.flatMap((id, i) => [i ? " and " : "", link(address("document", {id}), id)]), ".");
}

export async function document_(given) {
  const one = await ask("document", {id: given.id});
  const fate = one.drops.map(step);
  const end = one.kept_in ? [h("li", {}, one.survivor, " ", h("span", {class: "kept-text"}, "is kept"), " in ", name(one.kept_in))]
    : one.survivor !== one.id ? [h("li", {class: "lost-text"}, "no survivor: the document kept for it was dropped later")] : [];
  const both = one.pair ? pair(one.pair) : null;
  const whole = one.chars > (one.text || "").length ? `the first ${number(one.text.length)} of ${number(one.chars)} characters` : one.chars === null ? "" : plural(one.chars, "character");
  return [
    section(`Document ${one.id}`, h("p", {}, one.source === null ? "" : ["of the source ", name(one.source), ". "], one.has_cluster ? link(address("cluster", {id: one.id}), "Its cluster") : ""),
      h("ol", {class: "trail"}, [...fate, ...end]), one.shard ? shard(one.shard) : null),
    one.cuts.length ? section("Cut out of it", one.cuts.map(cuts)) : null,
    both ? section("Dropped and kept", both) : null,
    section("Text", h("p", {class: "note"}, whole), h("div", {class: "card"}, text(one.text))),
  ].filter(Boolean);
}
