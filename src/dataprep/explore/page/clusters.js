// All clusters, filtered and sorted, a page at a time; and one cluster with its pairs.
import {address, ask, changed, check, controls, digits, field, files, fillTitles, h, link, name, number, pager, place, plural, section, select, size, table, title} from "./dom.js";
import {ends, pair} from "./pair.js";

const ROWS = 25;
const MOST_OPTIONS = 500;

// A filter by a name: a list to choose from, or a field to type in if there are very many.
function choice(label, parameter, names, what) {
  if (names.length > MOST_OPTIONS) return field(label, parameter, "search", {placeholder: `any ${what}`, dir: "auto"});
  return select(label, parameter, [["", `any ${what}`], ...names.map((one) => [one, one])]);
}

export function filters(about, ...more) {
  const {stage, reason, source} = about.names;
  return controls(choice("source", "source", source, "source"), choice("stage", "stage", stage, "stage"), choice("reason", "reason", reason, "reason"), ...more);
}

// A column head that sorts by it.
export const head = (text, sort, fallback) => ({text, sort: changed({sort}), order: (place().given.sort || fallback) === sort ? "descending" : null});

export async function clusters(given, about) {
  const found = await ask("clusters", {...given, rows: ROWS});
  const rows = found.clusters.map((one) => [
    link(address("cluster", {id: one.root, home: one.home}), number(one.removed + 1)), size(one.bytes), one.least === null ? "" : one.least.toFixed(3),
    h("td", {class: "wide"}, one.home ? `${one.root} of ${one.home}` : [link(address("document", {id: one.root}), one.root), " ", title(one.root)], " ", ends(one)),
    one.source === null ? "" : name(one.source), h("td", {class: "wide"}, name(one.reasons))]);
  const heads = [head("documents", "removed", "removed"), head("dropped text", "bytes"), head("least similar", "least"), "kept document", head("its source", "source"), head("dropped by", "reasons")];
  const list = table("Clusters of duplicates", heads, rows, "list");
  fillTitles(list).catch(() => {});
  return section("Clusters", h("p", {}, `A cluster is a kept document and all documents that were dropped for it, or for one that was later dropped for it. The list below has ${plural(found.total, "cluster")} with ${plural(found.removed, "dropped document")}.`),
    filters(about, select("order", "sort", [["removed", "largest first"], ["bytes", "most text first"], ["least", "least similar first"], ["source", "by source"], ["reasons", "by reason"]], "removed"), choice("kept source", "kept", about.names.kept, "source"), field("at least", "least", "number", {min: 1, placeholder: "dropped documents"}), field("similarity below", "below", "number", {min: 0, max: 1, step: 0.01}), check("no survivor", "lost")),
    list, pager(found.total, ROWS, Number(given.page || 0)), files("clusters"));
}

// The document kept at first, the documents dropped for it, those dropped for these, and so on, with the end of each.
function tree(one, nodes, kept) {
  if (!nodes.some((node) => node.depth > 1)) return null;
  const below = new Map();
  for (const node of nodes) {
    const of = node.depth > 1 ? node.duplicate_of : "";
    below.set(of, [...below.get(of) || [], node]);
  }
  const children = (id) => below.has(id) ? h("ul", {}, below.get(id).map((node) => h("li", {}, link(address("document", {id: node.id}), node.id), " ", h("span", {class: "lost-text"}, "dropped by ", name(`${node.stage}: ${node.reason}`)),
    node.similarity === null ? "" : ` ${node.similarity.toFixed(3)}`, " ", node.source === null ? "" : name(node.source), children(node.id)))) : null;
  const more = one.removed > nodes.length ? h("p", {class: "note"}, `and ${number(one.removed - nodes.length)} more, in the table below`) : null;
  return h("details", {class: "card tree", open: true}, h("summary", {}, "All stages as one tree"), h("ul", {}, h("li", {}, kept, " ", one.end_stage ? ends(one) : h("span", {class: "kept-text"}, "is kept"), children(""))), more);
}

export async function cluster(given) {
  const page = Number(given.page || 0), rows = 10;
  const {cluster: one, drops, tree: nodes} = await ask("cluster", {id: given.id, home: given.home || "", page, rows});
  if (!one) return section("Cluster", h("p", {}, "No document was dropped as a duplicate of this one, and it is no duplicate."));
  const chosen = given.pair || (drops[0] && drops[0].id);
  const list = drops.map((drop) => [link(changed({pair: drop.id, page: page || ""}), drop.id), h("td", {class: "wide"}, title(drop.id)), drop.source === null ? "" : name(drop.source),
    h("td", {class: "wide"}, name(`${drop.stage}: ${drop.reason}`)), drop.similarity === null ? "" : drop.similarity.toFixed(3), size(drop.bytes), drop.duplicate_of]);
  const members = table("Dropped documents of the cluster", ["dropped", "text", "source", "by", "similarity", "text", "for"], list, "list");
  for (const row of members.querySelectorAll("tbody tr")) if (row.cells[0].textContent === chosen) row.setAttribute("aria-current", "true");
  fillTitles(members).catch(() => {});
  const both = chosen ? pair((await ask("pair", {id: chosen})).pair) : null;
  const kept = one.home ? `${one.root} of ${one.home}` : link(address("document", {id: one.root}), one.root);
  const lead = h("p", {}, `${number(one.removed + 1)} documents, of which `, kept, one.end_stage ? " was kept at first; " : " is kept. ", ends(one), " Dropped by ", name(one.reasons), ".");
  return section("Cluster", lead, both, tree(one, nodes, kept), members, pager(one.removed, rows, page), drops.length ? files("drops", {cluster: drops[0].id}) : null);
}
