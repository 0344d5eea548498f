"use strict";
const $ = (id) => document.getElementById(id);
const rows = () => Array.from($("rows").children);
const shown = () => rows().filter((row) => !row.hidden);
const links = () => document.querySelectorAll("#rows a, #strip a");
const panelOf = (link) => document.getElementById(link.hash.slice(1));
const isChosen = (row) => row.firstElementChild.hasAttribute("aria-current");

// Scrolls a list, and not the page.
const reveal = (link) => {
  const list = link.closest("ol");
  const [item, frame] = [link.getBoundingClientRect(), list.getBoundingClientRect()];
  if (item.top < frame.top) list.scrollTop -= frame.top - item.top;
  else if (item.bottom > frame.bottom) list.scrollTop += item.bottom - frame.bottom;
  if (item.left < frame.left) list.scrollLeft -= frame.left - item.left + 24;
  else if (item.right > frame.right) list.scrollLeft += item.right - frame.right + 24;
};

const choose = (id) => {
  const panel = $(id);
  if (!panel?.classList.contains("panel")) return;
  for (const other of $("panels").children) other.hidden = other !== panel;
  for (const link of links()) {
    if (link.hash === `#${id}`) {
      link.setAttribute("aria-current", "true");
      reveal(link);
    } else link.removeAttribute("aria-current");
  }
  // What the head says already is not said again below it.
  const why = panel.querySelector(".why");
  if (why) why.hidden = $("head").querySelector(".why")?.textContent.includes(why.textContent) ?? false;
  const at = shown().findIndex(isChosen);
  $("previous").disabled = at === 0;
  $("next").disabled = at === shown().length - 1;
};

const pick = (id) => {
  choose(id);
  history.replaceState(null, "", `#${id}`);
};

const go = (by, focus) => {
  const all = shown();
  if (!all.length) return;
  const at = all.findIndex(isChosen);
  const row = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))];
  const link = row.firstElementChild;
  pick(link.hash.slice(1));
  if (focus) link.focus({ preventScroll: true });
};

const nextFailure = () => {
  const bad = rows().filter((row) => row.dataset.kind === "bad" && !row.hidden);
  const after = rows().slice(rows().findIndex(isChosen) + 1);
  const row = bad.find((one) => after.includes(one)) ?? bad[0];
  if (row) pick(row.firstElementChild.hash.slice(1));
};

const filter = () => {
  const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const kind = document.querySelector("[name=filter]:checked").value;
  const fits = (row, value) =>
    value === "all" || (value === "bad" ? row.dataset.kind === "bad" : row.hasAttribute("data-repair"));
  const all = rows();
  for (const row of all) {
    const text = words.length ? panelOf(row.firstElementChild).textContent.toLowerCase() : "";
    row.hidden = !fits(row, kind) || !words.every((word) => text.includes(word));
  }
  for (const input of document.querySelectorAll("[name=filter]")) {
    input.parentElement.querySelector("output").textContent = all.filter((row) => fits(row, input.value)).length;
  }
  $("found").textContent = words.length ? `${shown().length} of ${all.length} steps` : "";
};

// A failure that ended the run comes first, then what was done last.
const start = () => {
  const all = rows();
  const isBad = document.querySelector("#head .badge:is(.failed, .error, .blocked, .invalid)");
  const failed = isBad && all.findLast((row) => row.dataset.kind === "bad");
  return (failed ?? all.at(-1))?.firstElementChild.hash.slice(1);
};

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']");
  // Where the list is far below, the chosen row of it is what is looked for.
  if (link?.hash === "#steps") setTimeout(() => rows().find(isChosen)?.scrollIntoView({ block: "center" }));
  if (!link || !panelOf(link)?.classList.contains("panel")) return;
  event.preventDefault();
  pick(link.hash.slice(1));
  // Where the list is not beside the panel, the panel is elsewhere.
  const panel = panelOf(link);
  const isBeside = link.closest("#rows") && !matchMedia("(max-width: 60rem)").matches;
  if (!isBeside) panel.scrollIntoView({ block: link.closest("#strip") ? "nearest" : "start" });
  if (!link.closest("#rows, #strip")) panel.focus({ preventScroll: true });
});
$("previous").addEventListener("click", () => go(-1));
$("next").addEventListener("click", () => go(1));
$("search").addEventListener("input", filter);
for (const input of document.querySelectorAll("[name=filter]")) input.addEventListener("change", filter);
addEventListener("hashchange", () => choose(location.hash.slice(1)));
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const field = event.target.closest("input:not([type=checkbox]), pre");
  if (field) {
    if (event.key === "Escape") field.blur();
    if (field.type !== "radio" || event.key.startsWith("Arrow")) return;
  }
  const inRows = event.target.closest("#rows");
  const panel = document.querySelector(".panel:not([hidden])");
  const views = Array.from(panel?.querySelectorAll(".views input") ?? []);
  if (event.key === "j" || event.key === "ArrowRight" || (inRows && event.key === "ArrowDown")) go(1, inRows);
  else if (event.key === "k" || event.key === "ArrowLeft" || (inRows && event.key === "ArrowUp")) go(-1, inRows);
  else if (event.key === "f") nextFailure();
  else if (event.key === "c") $("candidates").checked = !$("candidates").checked;
  else if (event.key === "b" && views.length) views[(views.findIndex((one) => one.checked) + 1) % views.length].checked = true;
  else if (event.key === "/") $("search").focus();
  else return;
  event.preventDefault();
});
filter();
const first = location.hash.slice(1);
choose($(first)?.classList.contains("panel") ? first : start());
