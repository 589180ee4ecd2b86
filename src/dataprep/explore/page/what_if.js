// A run without one of its stages, or with another parameter, on a random sample.
import {address, ask, copied, fillTitles, follow, h, link, name, number, plural, progress, section, table, tiles, title} from "./dom.js";

const range = (one) => one.low === one.high ? number(one.value) : `${number(one.value)} (${number(one.low)} to ${number(one.high)})`;
const hundredths = (n) => `${(100 * n).toFixed(2)}%`;
const share = (one) => one.low === one.high ? hundredths(one.value) : `${hundredths(one.value)} (${hundredths(one.low)} to ${hundredths(one.high)})`;

function documents(caption, ids) {
  return ids.length ? table(caption, ["document", "text"], ids.map((id) => [link(address("document", {id}), id), title(id)])) : null;
}

function result(found) {
  const rows = found.sources.map(([source, n, back, gone]) => [name(source), number(n), number(back), number(gone)]);
  return [
    tiles([[range(found.back), "documents come back"], [range(found.new), "documents are newly dropped"],
      [found.text ? share(found.text) : "not known", "kept text, of that of the run"],
      [found.sample === found.documents ? "all" : number(found.sample), `of ${plural(found.documents, "document")} were read`]]),
    found.text || found.sample === found.documents ? null : h("p", {class: "note"}, "Too few documents of the sample change for an estimate of the text."),
    found.later.length ? h("p", {class: "note"}, "Not run again, since they read all documents before they decide, or follow such a stage: ", found.later.flatMap((one, i) => [i ? ", " : "", name(one)])) : null,
    copied(found.code),
    rows.length ? table("Documents of the sample by source", ["source", "read", "come back", "newly dropped"], rows, "narrow") : null,
    found.n_sources > rows.length ? h("p", {class: "note"}, `The ${number(rows.length)} of ${number(found.n_sources)} sources with the most changes.`) : null,
    documents("Documents that come back", found.back_docs), documents("Documents that are newly dropped", found.new_docs),
  ].filter(Boolean);
}

export async function whatIf(given) {
  const {sample, stages} = await ask("changeable");
  const lead = h("p", {}, "What the run would keep without a stage, or with another value of a parameter. A random sample of the documents passes through the stage and the later stages of its pass twice. The sum of a rule's drops would be wrong: later rules drop some of the same documents. Intervals are 95 % intervals.");
  const step = stages.find((one) => one.stage === given.stage) || stages.find((one) => !one.refused) || stages[0];
  if (!step) return section("What if", lead, h("p", {}, "The run has no stages."));
  const names = step.parameters.map((one) => one.name), [now, value] = [given.change ? given.change.split("=")[0] : "", given.change ? given.change.slice(given.change.indexOf("=") + 1) : ""];
  const go = (next) => { location.hash = address("what-if", {stage: step.stage, change: given.change, sample: given.sample, ...next}); };
  const stage = h("select", {"aria-label": "Stage", change: (event) => go({stage: event.target.value, change: "", run: ""})}, stages.map((one) => h("option", {value: one.stage, selected: one === step}, one.stage)));
  const choose = h("select", {"aria-label": "Change", change: (event) => { const own = step.parameters.find((one) => one.name === event.target.value); go({change: own ? `${own.name}=${own.value}` : "", run: ""}); }},
    h("option", {value: ""}, "leave it out"), step.parameters.map((one) => h("option", {value: one.name, selected: one.name === now}, `change ${one.name}`)));
  const input = now ? h("input", {value, "aria-label": now, change: (event) => go({change: `${now}=${event.target.value}`, run: ""})}) : null;
  const size = h("input", {type: "number", min: 0, value: given.sample || sample, "aria-label": "Documents of the sample", change: (event) => go({sample: event.target.value, run: ""})});
  const body = h("div", {}), bar = progress();
  const form = h("form", {class: "controls", submit: (event) => { event.preventDefault(); go({change: input ? `${now}=${input.value}` : "", sample: size.value, run: "1"}); }},
    h("label", {}, h("span", {}, "stage"), stage), step.refused ? null : [h("label", {}, h("span", {}, "change"), choose), input ? h("label", {}, h("span", {}, now), input) : null,
      h("label", {}, h("span", {}, "sample (0: all)"), size), h("button", {}, "Run")]);
  if (step.refused) return section("What if", lead, form, h("p", {class: "note"}, `${step.stage}: ${step.refused}.`));
  if (given.run && (!now || names.includes(now))) {
    follow("what-if", {stage: step.stage, change: given.change, sample: given.sample || sample}, bar.tell).then(async (found) => {
      bar.end();
      body.append(...result(found));
      await fillTitles(body);
    }).catch((error) => { if (error.name !== "AbortError") bar.end(error.message); });
  }
  return section("What if", lead, form, bar.element, body);
}
