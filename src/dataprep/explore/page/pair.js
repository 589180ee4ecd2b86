// Two texts next to each other, with the words that only one of them has.
import {address, h, link, name} from "./dom.js";

export function side(runs, tag) {
  if (runs === null) return h("p", {class: "missing"}, "The text cannot be shown: it is hidden, was forgotten, or was not saved.");
  const inside = runs.map(([kind, words]) => kind === "changed" ? h(tag, {}, words) : kind === "left out" ? h("span", {class: "gap"}, `⋯ ${words} ⋯`) : words);
  return h("div", {class: "text", dir: "auto", tabindex: "0", role: "group", "aria-label": tag === "del" ? "Dropped text" : "Kept text"}, inside.length ? inside : h("i", {}, "an empty text"));
}

export function ends(one) {
  if (!one.end_stage) return null;
  return h("span", {class: "lost-text"}, "no survivor: dropped later by ", name(`${one.end_stage}: ${one.end_reason}`));
}

export function pair(one) {
  const like = one.similarity === null ? "" : ` ${one.similarity.toFixed(3)}`;
  const kept = one.duplicate_of === null ? "nothing" : one.duplicate_of_dataset ? `${one.duplicate_of} of ${one.duplicate_of_dataset}` : link(address("document", {id: one.duplicate_of}), one.duplicate_of);
  const end = one.root_dataset ? `${one.root} of ${one.root_dataset}` : link(address("document", {id: one.root}), one.root);
  const is_end = one.root === one.duplicate_of && one.root_dataset === one.duplicate_of_dataset;
  const later = one.root !== null && !is_end ? [" dropped later for ", end] : [];
  return h("article", {class: "pair card"},
    h("p", {class: "who"}, name(`${one.stage}: ${one.reason}`), h("b", {}, like)),
    h("div", {class: "columns"},
      h("div", {}, h("h3", {}, link(address("document", {id: one.id}), one.id), " ", h("span", {class: "lost-text"}, "dropped"), " ", one.source === null ? "" : name(one.source)), side(one.dropped, "del")),
      h("div", {}, h("h3", {}, kept, " ", h("span", {class: "kept-text"}, "kept instead"), " ", one.kept_source ? name(one.kept_source) : "", ...later, " ", ends(one)), side(one.kept, "ins"))));
}
