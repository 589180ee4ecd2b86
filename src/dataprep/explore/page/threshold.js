// Other thresholds of a MinHash, and other limits of a filter: some are computed at first, then any value that is chosen; each as a full run would decide.
import {address, ask, changed, copied, digits, files, follow, h, link, name, number, percent, place, plural, progress, section, table, tiles} from "./dom.js";
import {pair} from "./pair.js";

const WIDTH = 640, HEIGHT = 230, LEFT = 64, BOTTOM = 190, STEPS = 200;
const known = {};  // by run, stage and threshold

function curve(found, own, now, what) {
  const points = [...found].sort((a, b) => a.value - b.value);
  const xs = [...points.map((one) => one.value), now, own], [least, top] = [Math.min(...xs), Math.max(...xs)];
  const edge = (top - least || 1) * 0.04, [first, last] = [least - edge, top + edge];
  const most = Math.max(1, ...points.map((one) => one.dropped));
  const x = (value) => LEFT + (WIDTH - LEFT - 20) * (value - first) / (last - first), y = (n) => BOTTOM - (BOTTOM - 20) * n / most;
  const label = (one) => `${one.value}: ${number(one.dropped)} dropped, ${number(one.back)} come back, ${number(one.new)} newly dropped`;
  const isNow = (one) => one.value === now;
  let free = -Infinity;  // the first place where a number does not cover the one before
  const words = points.filter((one) => { const fits = x(one.value) >= free; if (fits) free = x(one.value) + 44; return fits; });
  return h("svg", {class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": points.map(label).join("; ")},
    h("line", {class: "grid", x1: LEFT, x2: WIDTH - 20, y1: BOTTOM, y2: BOTTOM}), h("line", {class: "grid", x1: LEFT, x2: WIDTH - 20, y1: 20, y2: 20}),
    h("text", {x: LEFT - 8, y: BOTTOM + 4, "text-anchor": "end"}, "0"), h("text", {x: LEFT - 8, y: 24, "text-anchor": "end"}, number(most)),
    h("line", {class: "threshold", x1: x(own), x2: x(own), y1: 12, y2: BOTTOM}), h("text", {x: x(own) + 4, y: 14}, "the run"),
    h("polyline", {class: "line val", points: points.map((one) => `${x(one.value)},${y(one.dropped)}`).join(" ")}),
    points.map((one) => h("circle", {class: isNow(one) ? "dot now" : "dot", cx: x(one.value), cy: y(one.dropped), r: isNow(one) ? 6 : 4})),
    words.map((one) => h("text", {x: x(one.value), y: BOTTOM + 18, "text-anchor": "middle"}, digits(one.value))),
    h("text", {class: "axis", x: WIDTH / 2, y: HEIGHT - 4, "text-anchor": "middle"}, `Documents that the stage drops, by ${what}`));
}

function bySource(one) {
  const rows = one.sources.map((of) => [name(of.source), number(of.back), number(of.new)]);
  return [
    rows.length ? table(one.how === "sample" ? "Changes of the sample by source" : "Changes by source", ["source", "come back", "newly dropped"], rows, "narrow") : null,
    one.n_sources > rows.length ? h("p", {class: "note"}, `The ${number(rows.length)} of ${number(one.n_sources)} sources with the most changes.`) : null,
  ];
}

function result(step, one) {
  const pairs = (title, some) => some.length ? section(title, some.map(pair)) : null;
  return [
    tiles([[number(one.dropped), one.threshold === step.threshold ? "dropped by the run" : `dropped at ${one.threshold}`], [number(one.back), "come back"], [number(one.new), "newly dropped"],
      [percent(one.recall, 1), "of the pairs at this threshold are compared"]]),
    one.threshold < step.threshold ? h("p", {class: "note"}, "Below the threshold of the run, the bands miss more pairs: a run with bands chosen for this threshold would drop more documents.") : null,
    copied(one.code), ...bySource(one), files("changes", {stage: step.stage, at: one.threshold}),
    pairs("Nearest to the border: come back", one.back_pairs), pairs("Nearest to the border: newly dropped", one.new_pairs),
  ].filter(Boolean);
}

// The figures of a MinHash: those at the first thresholds, in processes, and then those at the chosen one.
async function near(step, value, hash, plot, body, bar) {
  const key = (at) => [place().run, step.stage, at].join(" ");
  const found = () => Object.values(step.stops).map((at) => known[key(at)]).filter(Boolean);
  const draw = () => { if (location.hash === hash && found().length) plot.classList.add("card"), plot.replaceChildren(curve([...found(), ...(known[key(value)] ? [known[key(value)]] : [])].filter((one, i, all) => all.findIndex((other) => other.value === one.value) === i), step.threshold, value, "threshold")); };
  const keep = (one) => { known[key(one.threshold)] = {...one, value: one.threshold}; draw(); };
  draw();
  if (found().length < step.stops.length) await follow("stops", {stage: step.stage}, bar.tell, keep);
  if (!known[key(value)] || !known[key(value)].code) keep(await follow("threshold", {stage: step.stage, at: value}, bar.tell));
  if (location.hash === hash) body.append(...result(step, known[key(value)]));
}

const range = ([n, low, high]) => `${number(n)} (${number(low)} to ${number(high)})`;

function documents(title, some) {
  if (!some.length) return null;
  const rows = some.map((one) => [link(address("document", {id: one.id}), one.id), digits(one.value), one.label ? `${one.reason}, ${one.label}` : one.reason, one.source === null ? "" : name(one.source),
    one.text === null ? h("i", {}, "no text") : h("span", {class: "title", dir: "auto"}, one.text.replace(/\s+/g, " "))]);
  return section(title, table(title, ["document", "value", "reason", "source", "text"], rows));
}

function limited(step, limit, one, given) {
  const measure = (how, words) => link(changed({measure: how}), words), figures = one.intervals ? one.intervals.map(range) : [one.dropped, one.back, one.new].map(number);
  const again = ["Measure ", measure("all", `all ${plural(one.documents, "document")}`), " again, or ", measure("sample", "a random sample"), ", for which intervals are shown."];
  if (one.how === null) return [h("p", {class: "note"}, "The scores of this filter are not stored: the table of drops has only the value of the rule that dropped a document. ", again)];
  const origin = {stored: one.unknown ? null : "All scores are stored, so the numbers are those of a full run.", measured: "All documents were measured again, so the numbers are those of a full run.",
    sample: `Estimated from ${plural(one.known, "document")}, chosen by a hash, with 95 % intervals.`}[one.how];
  return [
    tiles([[one.is_known ? figures[0] : "not known", one.value === limit.value ? "dropped by the run" : `dropped at ${one.value}`], [figures[1], "come back"], [one.is_known ? figures[2] : "not known", "newly dropped"]]),
    h("p", {class: "note"}, origin || [`The scores of ${plural(one.unknown, "document")} that the filter kept are not stored, so the figures are known only for values at which documents come back. `, again]),
    copied(one.code), ...bySource(one), files("changes", {stage: step.stage, limit: limit.name, at: one.value, measure: given.measure || ""}),
    documents("Nearest to the border: come back", one.back_docs), documents("Nearest to the border: newly dropped", one.new_docs),
  ].filter(Boolean);
}

// The figures of a filter with scores.
async function scored(step, limit, value, given, hash, plot, body, bar) {
  const one = await follow("limit", {stage: step.stage, limit: limit.name, at: value, measure: given.measure}, bar.tell);
  if (location.hash !== hash) return;
  const points = one.how ? [...one.stops.filter((stop) => stop.value !== one.value), one].filter((stop) => stop.is_known) : [];
  if (points.length > 1) plot.classList.add("card"), plot.replaceChildren(curve(points, limit.value, one.value, limit.name));
  body.append(...limited(step, limit, one, given));
}

export async function threshold(given) {
  const {stages} = await ask("thresholds");
  const lead = h("p", {}, "What a MinHash would do at another threshold, or a filter with another limit. The stored candidates of a MinHash are compared again, in the order of the run, so the numbers are those of a full run with the same bands; a filter decides again from the scores of the documents. Later stages are not run again.");
  if (!stages.length) return section("Threshold", lead, h("p", {}, "The run has no MinHash, and no filter with scores."));
  const step = stages.find((one) => one.stage === given.stage) || stages[0];
  const limit = step.limits.find((one) => one.name === given.limit) || step.limits[0], own = limit ? limit.value : step.threshold;
  const value = given.at && Number.isFinite(Number(given.at)) ? Number(given.at) : own;
  const plot = h("div", {}), body = h("div", {}), bar = progress(), hash = location.hash;
  const [min, max] = limit ? [Math.min(value, ...limit.stops), Math.max(value, ...limit.stops)] : [0.3, 1];
  const stepSize = !limit ? 0.01 : Number.isInteger(own) && max - min > 4 ? Math.max(1, Math.round((max - min) / STEPS)) : Number(((max - min || 1) / STEPS).toPrecision(1));
  const output = h("output", {}, String(value)), go = (event) => { location.hash = changed({at: event.target.value}); };
  const slider = h("input", {type: "range", min, max, step: stepSize, value, "aria-label": limit ? limit.name : "Threshold", change: go, input: (event) => { output.textContent = event.target.value; }});
  const exact = limit ? h("input", {type: "number", step: "any", value, "aria-label": `${limit.name}, as a number`, change: go}) : null;
  const choose = stages.length > 1 ? h("label", {}, h("span", {}, "stage"), h("select", {"data-for": "stage", change: (event) => { location.hash = address("threshold", {stage: event.target.value}); }}, stages.map((one) => h("option", {value: one.stage, selected: one === step}, one.stage)))) : null;
  const which = limit && step.limits.length > 1 ? h("label", {}, h("span", {}, "limit"), h("select", {"data-for": "limit", change: (event) => { location.hash = address("threshold", {stage: step.stage, limit: event.target.value, measure: given.measure}); }}, step.limits.map((one) => h("option", {value: one.name, selected: one === limit}, one.name)))) : null;
  const work = limit ? scored(step, limit, value, given, hash, plot, body, bar) : near(step, value, hash, plot, body, bar);
  work.then(() => bar.end()).catch((error) => { if (error.name !== "AbortError") bar.end(error.message); });
  return section("Threshold", lead, h("div", {class: "controls"}, choose, which, h("label", {}, h("span", {}, limit ? `${limit.name} ` : "threshold ", output), slider), exact), plot, bar.element, body);
}
