// Sort and filter the tables of a report; without this script, the page shows the same tables as they are.
"use strict";
const FOLDED = 10; // rows that a narrow window shows before "show all"; style.css has the same number
for (const table of document.querySelectorAll("table")) {
  const heads = Array.from(table.tHead ? table.tHead.rows[0].cells : [], (head) => head.textContent);
  if (heads.length < 3 || table.closest(".bars")) continue;
  table.classList.add("stacked"); // in a narrow window, each cell is below its title
  for (const cell of table.querySelectorAll("tbody td:not([data-of], .bar)")) cell.dataset.of = heads[cell.cellIndex];
}
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[table.tBodies.length - 1]; // the totals have a body of their own
  const rows = Array.from(body.rows);
  if (rows.length < 2) continue;
  const heads = Array.from(table.tHead.rows[0].cells);
  const names = heads.map((head) => head.dataset.name || "");
  const key = (row, i) => {
    const n = row.cells[i].dataset.n;
    return n === undefined ? row.cells[i].textContent.trim().toLowerCase() : Number(n);
  };
  const sort = (i, falling) => {
    const sign = falling ? -1 : 1;
    const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    const sorted = rows.map((row, at) => [key(row, i), at, row]);
    sorted.sort((a, b) => sign * compare(a[0], b[0]) || a[1] - b[1]);
    body.append(...sorted.map((one) => one[2]));
    heads.forEach((head, k) => k === i ? head.setAttribute("aria-sort", falling ? "descending" : "ascending") : head.removeAttribute("aria-sort"));
    select.value = String(i);
  };
  const isNumber = (i) => rows[0].cells[i].dataset.n !== undefined;
  const controls = document.createElement("div");
  controls.className = "controls";
  const select = document.createElement("select");
  select.setAttribute("aria-label", "Sort by");
  select.append(new Option("as given", ""));
  names.forEach((name, i) => name && select.append(new Option("by " + name, String(i))));
  select.addEventListener("change", () => {
    if (select.value === "") {
      body.append(...rows);
      heads.forEach((head) => head.removeAttribute("aria-sort"));
    } else sort(Number(select.value), isNumber(Number(select.value)));
  });
  const more = document.createElement("button");
  more.className = "unfold";
  more.textContent = "show all " + rows.length;
  const unfold = () => { table.classList.remove("folded"); more.remove(); };
  more.addEventListener("click", unfold);
  table.classList.toggle("folded", rows.length > FOLDED);
  const filter = document.createElement("input");
  filter.type = "search";
  filter.placeholder = "filter rows";
  filter.setAttribute("aria-label", "Filter rows");
  const count = document.createElement("span");
  count.setAttribute("role", "status");
  filter.addEventListener("input", () => {
    const wanted = filter.value.toLowerCase();
    if (wanted) unfold();
    let shown = 0;
    for (const row of rows) {
      row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = wanted ? shown + " of " + rows.length : "";
  });
  controls.append(select, filter, count);
  if (rows.length > FOLDED) controls.append(more);
  (table.closest(".card") || table).before(controls);
  heads.forEach((head, i) => {
    if (!names[i]) return;
    const button = document.createElement("button");
    button.append(...head.childNodes);
    button.addEventListener("click", () => {
      const was = head.getAttribute("aria-sort");
      sort(i, was === null ? isNumber(i) : was === "ascending");
    });
    head.append(button);
  });
}
