// Show the view that the address names, and again whenever it changes.
import {address, h, ask, endFollowed, place} from "./dom.js";
import {suspicions} from "./suspicions.js";
import {sources} from "./sources.js";
import {cluster, clusters} from "./clusters.js";
import {document_, drops} from "./documents.js";
import {threshold} from "./threshold.js";
import {search} from "./search.js";
import {review} from "./review.js";
import {compare} from "./compare.js";
import {whatIf} from "./what_if.js";

const VIEWS = {suspicions, sources, clusters, cluster, drops, document: document_, threshold, "what-if": whatIf, search, review, compare};
const MENU = {suspicions: "Suspicions", sources: "Sources", clusters: "Clusters", drops: "Dropped", threshold: "Threshold", "what-if": "What if", review: "Review", compare: "Compare", search: "Search"};
const runs = {};
let names = [], shown = 0;

async function show() {
  const {run, view, given} = place(), began = performance.now(), mine = ++shown;
  const main = document.getElementById("view");
  endFollowed();
  main.setAttribute("aria-busy", "true");
  let inside;
  try {
    if (!names.length) names = (await (await fetch("runs")).json()).runs;
    const about = runs[run] = runs[run] || await ask("run", {}, run);
    head(about, run, view);
    const draw = VIEWS[view];
    if (!draw) throw new Error("there is no such view");
    inside = await draw(given, about, names);
  } catch (error) {
    if (error.name === "AbortError") return;
    inside = h("p", {class: "error", role: "alert"}, error.message);
    delete runs[run];
  }
  if (mine !== shown) return;
  main.replaceChildren(...[inside].flat());
  main.removeAttribute("aria-busy");
  document.title = `${MENU[view] || view} - ${names[run] || "Explore a run"}`;
  requestAnimationFrame(() => setTimeout(() => {  // after the paint
    main.dataset.ms = Math.round(performance.now() - began);
    main.dataset.ready = location.hash || "#";
  }));
}

function head(about, run, view) {
  document.getElementById("name").replaceChildren(about.name);
  const links = Object.entries(MENU).filter(([one]) => one !== "compare" || names.length > 1).map(([one, text]) => h("a", {href: address(one, {}, run), "aria-current": one === view ? "page" : null}, text));
  const choose = (event) => { location.hash = address(view, {}, event.target.value); };
  const others = names.length < 2 ? [] : [h("select", {"aria-label": "Run", change: choose}, names.map((one, i) => h("option", {value: i, selected: String(i) === run}, one)))];
  document.getElementById("nav").replaceChildren(...links, ...others);
  document.getElementById("left-out").textContent = about.left_out;
}

addEventListener("hashchange", show);
show();
