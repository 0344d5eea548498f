"use strict";
const steps = Array.from(document.querySelectorAll("details.step"));
const search = document.querySelector("input[type=search]");
const found = document.querySelector("output");
search?.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const step of steps) {
    const text = step.textContent.toLowerCase();
    step.hidden = !words.every((word) => text.includes(word));
    if (!step.hidden) shown += 1;
  }
  found.textContent = words.length ? `${shown} of ${steps.length} steps` : "";
});
const go = (by) => {
  const shown = steps.filter((step) => !step.hidden);
  const at = shown.findIndex((step) => step.contains(document.activeElement));
  const next = shown[Math.min(shown.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
  next?.querySelector("summary").focus();
  next?.scrollIntoView({ block: "nearest" });
};
const open = () => {
  const step = document.getElementById(location.hash.slice(1));
  if (step instanceof HTMLDetailsElement) step.open = true;
};
addEventListener("hashchange", open);
open();
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === search) {
    if (event.key === "Escape") search.blur();
    return;
  }
  if (event.key === "j") go(1);
  else if (event.key === "k") go(-1);
  else if (event.key === "/") search?.focus();
  else if (event.key === "e") {
    const closed = steps.some((step) => !step.open);
    for (const step of steps) step.open = closed;
  } else return;
  event.preventDefault();
});
