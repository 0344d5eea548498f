"use strict";
// The server renders; this puts what came into its place.
const body = document.body;
const isLast = () => rows().length === 0 || isChosen(rows().at(-1));
const isAtEnd = ({ scrollHeight, clientHeight, scrollTop, scrollWidth, clientWidth, scrollLeft }) =>
  scrollHeight - clientHeight - scrollTop < 40 && scrollWidth - clientWidth - scrollLeft < 40;

const tick = () => {
  for (const one of document.querySelectorAll("[data-since]")) {
    const seconds = Math.max(0, (Date.now() - Number(one.dataset.since)) / 1000);
    one.textContent = seconds < 100 ? `${seconds.toFixed(1)} s` : `${Math.round(seconds / 60)} min`;
  }
};

const take = (update) => {
  document.title = update.title;
  // Neither a list that somebody scrolled away from its end moves, nor any while an earlier step is looked at.
  const follows = $("follow").checked;
  const kept = ["rows", "strip"].map($).filter((list) => !follows || !isAtEnd(list));
  const places = kept.map((list) => [list, { top: list.scrollTop, left: list.scrollLeft }]);
  for (const [id, html] of update.replaced) if ($(id).innerHTML !== html) $(id).innerHTML = html;
  for (const [id, html] of update.added) $(id).insertAdjacentHTML("beforeend", html);
  for (const panel of $("panels").children) panel.hidden = true;
  document.querySelector("nav.strip").hidden = !$("strip").children.length;
  document.querySelector(".none")?.remove();
  body.dataset.shown = JSON.stringify(update.shown);
  filter();
  const chosen = document.querySelector("#rows [aria-current]");
  choose(follows || !chosen ? start() : chosen.hash.slice(1));
  for (const [list, place] of places) list.scrollTo(place);
  $("follow").parentElement.hidden = !update.isRunning;
  tick();
};

// Who looks at an earlier step does not want to be taken away from it.
// That is said at once, and not in a task of its own: an update that came between would choose the newest again.
for (const way of ["click", "keydown"]) addEventListener(way, ({ target, type }) => {
  if (!isLast() && !(type === "click" && target === $("follow"))) $("follow").checked = false;
});
$("follow").addEventListener("change", () => $("follow").checked && choose(start()));

// The card gets the focus and not a button, and buttons work after a moment: what was pressed for something else is no consent.
const ask = (html) => {
  $("question").innerHTML = html;
  const card = $("question").firstElementChild;
  if (!card) return;
  card.focus({ preventScroll: true });
  card.scrollIntoView({ block: "nearest" });
  setTimeout(() => {
    for (const one of card.querySelectorAll("button")) one.disabled = false;
  }, 600);
};
$("question").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.id === "answer") $("question").querySelector("button.yes").click();
});
$("question").addEventListener("click", async (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const card = button.closest("[data-number]");
  const text = $("answer")?.value;
  const answer = { number: Number(card.dataset.number), allow: button.value !== "no" };
  if (button.value === "text") answer.text = text;
  for (const one of card.querySelectorAll("button")) one.disabled = true;
  const reply = await fetch("answer", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(answer),
  }).catch(() => null);
  if (!reply?.ok) {
    const note = document.createElement("span");
    note.className = "lost";
    note.textContent = "The answer did not arrive: it was answered elsewhere, its time is over, or the run has ended.";
    card.querySelector(".answers").append(note);
  }
});

const say = (text) => ($("state").textContent = text);

let events;
const listen = () => {
  events?.close();
  events = new EventSource(`events?${new URLSearchParams(JSON.parse(body.dataset.shown))}`);
  events.onopen = () => say("");
  events.addEventListener("update", (event) => take(JSON.parse(event.data)));
  events.addEventListener("question", (event) => ask(JSON.parse(event.data)));
  // What is over does not come back.
  events.addEventListener("over", () => {
    events.close();
    ask("");
    say("This page is not served any more.");
  });
  events.onerror = () => {
    events.close();
    say("The connection is lost; trying again.");
    setTimeout(listen, 1000);
  };
};
setInterval(tick, 500);
tick();
listen();
