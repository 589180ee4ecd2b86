// Find a text in the input, and the stages and rules that removed it.
import {address, ask, h, link, name, number, plural, section} from "./dom.js";

export async function search(given) {
  const input = h("input", {type: "search", value: given.text || "", "aria-label": "Text to find", dir: "auto", placeholder: "a text, letter by letter"});
  const submit = (event) => { event.preventDefault(); location.hash = address("search", {text: input.value}); };
  const form = h("form", {class: "controls", submit}, input, h("button", {}, "Search"));
  const lead = h("p", {}, "Finds a text in the input of the run, also where it was removed. The input is read once, which takes a while for a large one.");
  if (!given.text) return section("Search", lead, form);
  const state = h("p", {class: "note", role: "status"}, "Reading the input…"), list = h("div", {});
  const began = performance.now(), clock = setInterval(() => { state.textContent = `Reading the input… ${Math.round((performance.now() - began) / 1000)} s`; }, 1000);
  ask("search", {text: given.text}).then((found) => {
    state.textContent = `${plural(found.times, "occurrence")} in ${plural(found.documents, "document")} of the input; ${number(found.times_removed)} of them, in ${plural(found.documents_removed, "document")}, were removed.`;
    list.replaceChildren(...found.hits.map((hit) => h("article", {class: "card"},
      h("h3", {}, link(address("document", {id: hit.id}), hit.id), " ", name(hit.source), ` removed ${number(hit.times)} ×`),
      hit.around ? h("div", {class: "text", dir: "auto"}, hit.around[0], h("mark", {}, given.text), hit.around[1]) : h("p", {class: "missing"}, "The text around it is private, or too long."),
      h("p", {class: "note"}, hit.causes.length ? hit.causes.flatMap((one, i) => [i ? "; " : "", `${one.how} by `, name(`${one.stage}: ${one.rule}`)]) : "which stage removed it is not known"))));
  }).catch((error) => { if (error.name !== "AbortError") state.textContent = error.message; }).finally(() => clearInterval(clock));
  return section("Search", lead, form, state, list);
}
