// Judge a random sample of the drops of each reason with the keys y, n, s and u; each answer is saved at once.
import {address, ask, h, link, name, number, percent, place, plural, section, table, text} from "./dom.js";
import {pair} from "./pair.js";

const KEYS = {y: "right", n: "wrong", s: "unsure"};
const WORDS = {right: "rightly dropped", wrong: "wrongly dropped", unsure: "skip"};
let pressed = null, history_ = [];

addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.closest("input, select, textarea");
  if (place().view !== "review" || typing || event.ctrlKey || event.metaKey || event.altKey || !pressed) return;
  const key = event.key.toLowerCase();
  if (key in KEYS || key === "u") {
    event.preventDefault();
    pressed(key);
  }
});

async function send(id, stage, verdict, content) {
  const reply = await fetch(`${place().run}/review`, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({id, stage, verdict, content})});
  if (!reply.ok) throw new Error((await reply.json()).error);
}

function interval(one) {
  if (!one.precision) return "";
  return `${percent(one.precision.share, 1)} (${percent(one.precision.low, 1)} to ${percent(one.precision.high, 1)})`;
}

let turn = 0;  // the number of the document that is shown: a slower answer about one before is left alone
let ahead = {};  // the document that comes next, which is read while this one is judged

async function read(id) {
  const reply = await fetch(`${place().run}/document?${new URLSearchParams({id})}`), found = await reply.json();
  if (!reply.ok) throw new Error(found.error);
  return found;
}

export async function review(given) {
  pressed = null;
  turn++;
  const {reasons, file} = await ask("review");
  if (!reasons.length) return section("Review", h("p", {}, "No document was dropped."));
  const open = (one) => one.sample.filter((id) => !(id in one.verdicts));
  const of = reasons.find((one) => one.stage === given.stage && one.reason === given.reason) || reasons.find((one) => open(one).length) || reasons[0];
  const rows = reasons.map((one) => [link(address("review", {stage: one.stage, reason: one.reason}), name(`${one.stage}: ${one.reason}`)), number(one.drops),
    `${number(one.sample.length - open(one).length)} of ${number(one.sample.length)}`, number(one.right), number(one.wrong), number(one.unsure), interval(one), one.stale ? number(one.stale) : ""]);
  const figures = table("Judgements by reason", ["stage and reason", "drops", "judged", "right", "wrong", "skipped", "rightly dropped (95 % interval)", "stale"], rows, "list");
  const lead = h("p", {}, "Was it right to drop this document? The sample is drawn at random from the drops of each reason, in turn from each source; the shares are weighted by the drops of each source. Judgements are saved in ", name(file), ".");
  const id = of.sample.includes(given.id) ? given.id : open(of)[0];
  const here = {stage: of.stage, reason: of.reason};
  const state = h("p", {class: "error", role: "alert"});
  let content = "";  // the hash of the texts that are shown
  const press = (key) => {
    if (pressed !== press) return;  // the text is not shown yet, or was just judged
    pressed = null;
    const undone = key === "u" ? history_.pop() : null;
    if (key === "u" ? !undone : !id) return;
    if (key !== "u") history_.push({id, ...here});
    const target = undone || {id, ...here};
    send(target.id, target.stage, undone ? "" : KEYS[key], undone ? "" : content).then(() => {
      const to = address("review", undone || here);
      if (to === location.hash) dispatchEvent(new Event("hashchange"));
      else location.hash = to;
    }).catch((error) => { state.textContent = error.message; });
  };
  const button = (key, label) => h("button", {click: () => press(key)}, `${label} `, h("kbd", {}, key));
  const buttons = h("div", {class: "controls", role: "group", "aria-label": "Judgement"}, ...Object.entries(KEYS).map(([key, verdict]) => button(key, WORDS[verdict])), button("u", "undo"));
  const shown = h("div", {}, id ? h("p", {class: "note", role: "status"}, "The text is being read…") : h("p", {}, "The sample of this reason is judged. Choose another one below."));
  const show = (one) => {
    const drop = one.drops[0];
    shown.replaceChildren(one.pair ? pair(one.pair)
      : h("div", {class: "card"}, h("h3", {}, link(address("document", {id}), id), " ", one.source ? name(one.source) : "", drop && drop.value !== null ? ` ${drop.value}` : "", " ", drop && drop.label ? name(drop.label) : ""), text(one.text)));
    content = one.content;
    pressed = press;
    const next = open(of)[open(of).indexOf(id) + 1], key = `${place().run} ${next}`;
    ahead = next ? {key, found: read(next)} : {};
    if (next) ahead.found.catch(() => {});
  };
  if (id) {
    const mine = ++turn, found = ahead.key === `${place().run} ${id}` ? ahead.found : read(id);
    found.then((one) => { if (mine === turn) show(one); }).catch((error) => { shown.replaceChildren(); state.textContent = error.message; });
  } else pressed = press;
  return section("Review", lead, h("h3", {class: "over"}, name(`${of.stage}: ${of.reason}`), ` — ${plural(open(of).length, "document")} left`), buttons, state, shown, figures);
}
