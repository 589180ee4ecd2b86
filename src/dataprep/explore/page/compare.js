// The changes from another run of the same input to this one.
import {address, ask, changed, controls, h, link, name, number, place, plural, section, size, table} from "./dom.js";
import {side} from "./pair.js";

function reasons(title, some, run) {
  if (!some.length) return null;
  return section(title, some.map((one) => h("details", {class: "card", open: true},
    h("summary", {}, h("b", {}, number(one.docs)), " ", name([one.stage, one.reason].filter(Boolean).join(": "))),
    h("ul", {}, one.examples.map((of) => h("li", {}, link(address("document", {id: of.id}, run), of.id), " ", h("bdi", {class: "name"}, of.line)))))));
}

export async function compare(given, about, names) {
  const own = place().run, other = given.with || String(names.findIndex((_, i) => String(i) !== own));
  const lead = h("p", {}, "Documents that only one of two runs of the same input has, with the reason for which the other one dropped them, and documents with another text.");
  if (other === "-1") return section("Compare", lead, h("p", {}, "Give the command the folders of two runs."));
  const choose = (event) => { location.hash = changed({with: event.target.value}); };
  const options = names.map((one, i) => String(i) === own ? null : h("option", {value: i, selected: String(i) === other}, one));
  const found = await ask("compare", {with: other});
  const rows = found.sources.map((one) => [name(one.source), number(one.both.docs), number(one.lost.docs), size(one.lost.bytes), number(one.gained.docs), size(one.gained.bytes), number(one.changed.docs), one.changed.docs ? `${number(one.changed.bytes)}` : ""]);
  return [
    section("Compare", lead, controls(h("label", {}, h("span", {}, "with"), h("select", {change: choose}, options))),
      h("p", {}, `${plural(found.a.docs, "document")} in `, name(found.a.folder), `; ${number(found.b.docs)} in `, name(found.b.folder), "."),
      found.warnings.map((one) => h("p", {class: "error"}, one)),
      table("Changes by source", ["source", "in both", "lost", "lost text", "gained", "gained text", "changed texts", "bytes more"], rows)),
    reasons("Lost", found.lost, own), reasons("Gained", found.gained, other),
    found.texts.length ? section("Changed texts", found.texts.map((one) => h("article", {class: "card"}, h("h3", {}, link(address("document", {id: one.id}), one.id)),
      h("div", {class: "columns"}, side(one.before, "del"), side(one.after, "ins"))))) : null,
  ].filter(Boolean);
}
