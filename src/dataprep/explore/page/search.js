// Find a text in the kept texts and in the input, and the stages and rules that removed it.
import {address, files, follow, h, link, name, number, plural, progress, section} from "./dom.js";

function card(hit, text, words, below) {
  return h("article", {class: "card"}, h("h3", {}, link(address("document", {id: hit.id}), hit.id), " ", name(hit.source), words),
    hit.around ? h("div", {class: "text", dir: "auto"}, hit.around[0], h("mark", {}, text), hit.around[1]) : h("p", {class: "missing"}, "The text around it is private, or too long."), below);
}

const removed = (hit, text) => card(hit, text, ` removed ${number(hit.times)} ×`,
  h("p", {class: "note"}, hit.causes.length ? hit.causes.flatMap((one, i) => [i ? "; " : "", `${one.how} by `, name(`${one.stage}: ${one.rule}`)]) : "which stage removed it is not known"));

export async function search(given) {
  const input = h("input", {type: "search", value: given.text || "", "aria-label": "Text to find", dir: "auto", placeholder: "a text, letter by letter"});
  const submit = (event) => { event.preventDefault(); location.hash = address("search", {text: input.value}); };
  const form = h("form", {class: "controls", submit}, input, h("button", {}, "Search"));
  const lead = h("p", {}, "Finds a text in the kept texts and in the input of the run, also where it was removed. The input is read once, which takes a while for a large one. The kept texts are not read if `dataprep search` has made an index of them.");
  if (!given.text) return section("Search", lead, form);
  const bar = progress(), state = h("p", {class: "note"}), list = h("div", {}), kept = h("div", {}), below = h("p", {class: "note"});
  const part = (one) => {
    if (one.hit) list.append(removed(one.hit, given.text));
    if (!one.kept) return;
    below.textContent = `${plural(one.kept.times, "occurrence")} in ${plural(one.kept.documents, "kept document")}${one.kept.is_indexed ? ", found by the index" : ""}.`;
    kept.replaceChildren(...one.kept.hits.map((hit) => card(hit, given.text, ` ${number(hit.times)} ×`)));
  };
  follow("search", {text: given.text}, bar.tell, part).then((found) => {
    bar.end();
    list.before(files("hits", {text: given.text}));
    state.textContent = `${plural(found.times, "occurrence")} in ${plural(found.documents, "document")} of the input; ${number(found.times_removed)} of them, in ${plural(found.documents_removed, "document")}, were removed.`;
  }).catch((error) => { if (error.name !== "AbortError") bar.end(error.message); });
  return [section("Search", lead, form, bar.element, state), section("Removed", list), section("Kept", below, kept)];
}
