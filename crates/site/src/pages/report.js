// Reports what happened in a page to the server. Survives overridden built-ins: see hostile.js.
"use strict";

/** Counts one more use of `name`; delivered even if the page goes away. */
function hit(name) {
  return fetch("/hit?name=" + encodeURIComponent(name), { method: "POST", keepalive: true });
}

/** Tells what a form that never leaves the page contained. */
function report(form, fields) {
  return fetch("/report", {
    method: "POST",
    keepalive: true,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ form, fields }),
  });
}

document.addEventListener("click", (event) => {
  for (const node of event.composedPath()) {
    if (node.dataset && node.dataset.hit) {
      hit(node.dataset.hit);
      return;
    }
  }
});

document.addEventListener("keydown", (event) => {
  const target = event.target;
  const acts = event.key === "Enter" || event.key === " ";
  if (acts && target.role === "button" && target.tagName === "DIV") {
    event.preventDefault();
    target.click();
  }
});
