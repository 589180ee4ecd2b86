// Removals that may be wrong, those that concern most text first; each opens the documents concerned.
import {address, ask, files, h, link, number, percent, plural, section, size} from "./dom.js";

const KINDS = {
  no_survivor: ["No survivor", () => address("clusters", {lost: "1"})],
  source_for_source: ["One source for another", (one) => address("clusters", {source: one.source, kept: one.other})],
  text_lost: ["Text lost, documents kept", (one) => address("sources", {only: one.source, unit: "bytes"})],
  nearly_all: ["Nearly all of a source", (one) => address("sources", {only: one.source})],
  reason_took_source: ["One reason took most of a source", (one) => address("drops", {stage: one.stage, reason: one.reason, source: one.source})],
  lines_left: ["Boilerplate left", (one) => address("search", {text: one.text})],
  judged_wrong: ["Judged wrong in the review", (one) => address("review", {stage: one.stage, reason: one.reason})],
  boilerplate: ["Alike only in boilerplate", (one) => address("clusters", {source: one.source, sort: "least", below: "1"})],
};

function row(one) {
  const [what, to] = KINDS[one.kind];
  const amount = `${plural(one.docs, "document")}, ${size(one.bytes)}`;
  return h("li", {class: "card suspicion", "data-kind": one.kind}, h("h3", {}, link(to(one), what)), h("p", {}, h("bdi", {}, one.sentence)), h("p", {class: "note"}, amount));
}

export async function suspicions(given, about) {
  const found = (await ask("suspicions")).suspicions;
  const list = h("ol", {class: "suspicions"}, found.map(row));
  const state = h("p", {class: "note", role: "status"}, "Samples of texts are being read…");
  ask("boilerplate").then(({suspicions: more}) => {
    const all = [...found, ...more].sort((a, b) => b.bytes - a.bytes);
    list.replaceChildren(...all.map(row));
    state.textContent = all.length ? "" : "Nothing is suspicious by these rules.";
  }).catch((error) => { state.textContent = error.name === "AbortError" ? "" : error.message; });
  const tile = (figure, text) => h("div", {}, h("dt", {}, text), h("dd", {}, figure));
  const tiles = h("dl", {class: "tiles"},
    tile(number(about.read.docs), "documents read"),
    tile(number(about.kept.docs), `documents kept, ${percent(about.kept.docs, about.read.docs)} of them`),
    tile(size(about.kept.bytes), `of text kept, of ${size(about.read.bytes)}`),
    tile(number(about.duplicates), "dropped as duplicates"));
  return [tiles, section("Suspicions", h("p", {}, "Removals that may be wrong, those that concern most text first. Each opens the documents concerned."), list, state, files("suspicions"))];
}
