// Other thresholds of a MinHash: some are computed at first, then any value that is chosen; each as a full run would decide.
import {address, ask, changed, h, name, number, percent, place, plural, section, select, table} from "./dom.js";
import {pair} from "./pair.js";

const WIDTH = 640, HEIGHT = 230, LEFT = 64, BOTTOM = 190;
const known = {};  // by run, stage and threshold

async function at(stage, value) {
  const key = [place().run, stage, value].join(" ");
  known[key] = known[key] || await ask("threshold", {stage, at: value});
  return known[key];
}

function curve(found, own, now) {
  const points = [...found].sort((a, b) => a.threshold - b.threshold);
  const xs = [...points.map((one) => one.threshold), now], [first, last] = [Math.min(...xs) - 0.02, Math.max(...xs) + 0.02];
  const most = Math.max(1, ...points.map((one) => one.dropped));
  const x = (value) => LEFT + (WIDTH - LEFT - 20) * (value - first) / (last - first), y = (n) => BOTTOM - (BOTTOM - 20) * n / most;
  const label = (one) => `${one.threshold}: ${number(one.dropped)} dropped, ${number(one.back)} come back, ${number(one.new)} newly dropped`;
  return h("svg", {class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": points.map(label).join("; ")},
    h("line", {class: "grid", x1: LEFT, x2: WIDTH - 20, y1: BOTTOM, y2: BOTTOM}), h("line", {class: "grid", x1: LEFT, x2: WIDTH - 20, y1: 20, y2: 20}),
    h("text", {x: LEFT - 8, y: BOTTOM + 4, "text-anchor": "end"}, "0"), h("text", {x: LEFT - 8, y: 24, "text-anchor": "end"}, number(most)),
    h("line", {class: "threshold", x1: x(own), x2: x(own), y1: 12, y2: BOTTOM}), h("text", {x: x(own) + 4, y: 14}, "the run"),
    h("polyline", {class: "line val", points: points.map((one) => `${x(one.threshold)},${y(one.dropped)}`).join(" ")}),
    points.map((one) => h("circle", {class: one.threshold === now ? "dot now" : "dot", cx: x(one.threshold), cy: y(one.dropped), r: one.threshold === now ? 6 : 4})),
    points.map((one) => h("text", {x: x(one.threshold), y: BOTTOM + 18, "text-anchor": "middle"}, String(one.threshold))),
    h("text", {class: "axis", x: WIDTH / 2, y: HEIGHT - 4, "text-anchor": "middle"}, "Documents that the stage drops, by threshold"));
}

function result(step, one) {
  const same = one.threshold === step.threshold;
  const rows = one.sources.map((of) => [name(of.source), number(of.back), number(of.new)]);
  const copy = async (event) => { await navigator.clipboard.writeText(one.code); event.target.textContent = "copied"; };
  const pairs = (title, some) => some.length ? section(title, some.map(pair)) : null;
  return [
    h("dl", {class: "tiles"},
      ...[[number(one.dropped), same ? "dropped by the run" : `dropped at ${one.threshold}`], [number(one.back), "come back"], [number(one.new), "newly dropped"],
        [percent(one.recall, 1), "of the pairs at this threshold are compared"]].map(([figure, what]) => h("div", {}, h("dt", {}, what), h("dd", {}, figure)))),
    one.threshold < step.threshold ? h("p", {class: "note"}, "Below the threshold of the run, the bands miss more pairs: a run with bands chosen for this threshold would drop more documents.") : null,
    h("p", {class: "code"}, h("code", {}, one.code), " ", h("button", {click: copy}, "copy")),
    rows.length ? table("Changes by source", ["source", "come back", "newly dropped"], rows, "narrow") : null,
    one.n_sources > rows.length ? h("p", {class: "note"}, `The ${number(rows.length)} of ${number(one.n_sources)} sources with the most changes.`) : null,
    pairs("Nearest to the border: come back", one.back_pairs), pairs("Nearest to the border: newly dropped", one.new_pairs),
  ].filter(Boolean);
}

export async function threshold(given) {
  const {stages} = await ask("thresholds");
  const lead = h("p", {}, "What a MinHash would do at another threshold. The stored candidates are compared again, in the order of the run, so the numbers are those of a full run with the same bands; later stages are not run again.");
  if (!stages.length) return section("Threshold", lead, h("p", {}, "The run has no MinHash."));
  const step = stages.find((one) => one.stage === given.stage) || stages[0];
  const value = given.at && Number.isFinite(Number(given.at)) ? Number(given.at) : step.threshold;
  const plot = h("div", {class: "card"}), body = h("div", {}), state = h("p", {class: "note", role: "status"});
  const hash = location.hash, draw = (found) => plot.replaceChildren(curve(found, step.threshold, value));
  const slider = h("input", {type: "range", min: 0.3, max: 1, step: 0.01, value, "aria-label": "Threshold", change: (event) => { location.hash = changed({at: event.target.value}); },
    input: (event) => { output.textContent = event.target.value; }});
  const output = h("output", {}, String(value));
  state.textContent = `computing ${value}…`;
  (async () => {
    const now = await at(step.stage, value), found = [now];
    if (location.hash !== hash) return;
    body.append(...result(step, now));
    draw(found);
    for (const stop of step.stops) {
      if (location.hash !== hash) return;
      state.textContent = `computing ${stop}…`;
      if (stop !== now.threshold) found.push(await at(step.stage, stop));
      draw(found);
    }
    state.textContent = "";
  })().catch((error) => { state.textContent = error.name === "AbortError" ? "" : error.message; });
  const choose = stages.length > 1 ? select("stage", "stage", stages.map((one) => [one.stage, one.stage]), step.stage) : null;
  return section("Threshold", lead, h("div", {class: "controls"}, choose, h("label", {}, h("span", {}, "threshold ", output), slider)), plot, state, body);
}
