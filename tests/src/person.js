// What a person does to find something: reads names, scrolls there, sees whether something lies over it.
(kind, pattern, near) => {
  const NAMED = {
    button: "button, [role=button], input[type=submit], summary",
    link: "a[href]",
    field: "input:not([type=hidden]), textarea, [contenteditable=true]",
    label: "label",
    option: "select[size] option",
    item: "[role=menuitem], [role=option], [role=tab]",
  };
  const plain = (text) => (text ?? "").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim();
  const nameOf = (element) =>
    plain(element.getAttribute("aria-label") || Array.from(element.labels ?? [], (one) => one.innerText).join(" ") ||
      element.innerText || element.value || element.placeholder);
  const isShown = (element) => {
    const { width, height } = element.getBoundingClientRect();
    return width > 1 && height > 1 && getComputedStyle(element).visibility === "visible";
  };
  const around = (element) => {
    for (let at = element.parentElement, up = 0; at && up < 9; at = at.parentElement, up++)
      if (at.matches("tr, li, article, dialog, [role=dialog], section")) return plain(at.innerText);
    return "";
  };
  const wanted = new RegExp(`^(?:${pattern})$`);
  const found = Array.from(document.querySelectorAll(NAMED[kind]))
    .filter((one) => wanted.test(nameOf(one)) && isShown(one) && !one.disabled)
    .filter((one) => !near || around(one).includes(plain(near)));
  if (!globalThis.landed) {
    // Where a press went is seen: a cover that came just before it took it.
    globalThis.landed = () => false;
    addEventListener("click", (event) => globalThis.clicked?.push(...event.composedPath()), { capture: true });
  }
  if (found.length !== 1) return { seen: found.length, names: Array.from(document.querySelectorAll(NAMED[kind]), nameOf).slice(0, 40) };
  const [element] = found;
  globalThis.clicked = [];
  globalThis.landed = () => globalThis.clicked.includes(element) || !element.isConnected;
  element.scrollIntoView({ block: "center", behavior: "instant" });
  const box = element.getBoundingClientRect();
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  const hit = document.elementFromPoint(x, y);
  if (hit && (element.contains(hit) || hit.contains(element) && hit.matches("label"))) return { at: [x, y], type: element.type };
  for (let over = hit; over && over !== document.body; over = over.parentElement) {
    if (getComputedStyle(over).position !== "fixed") continue;
    const closes = /^(?:close.*|no thanks.*|not now.*|dismiss.*|maybe later.*|reject.*|only necessary.*|decline.*|\u00d7)$/;
    const button = Array.from(over.querySelectorAll("button")).find((one) => closes.test(nameOf(one) || one.innerText) && isShown(one));
    if (!button) return { covered: true };
    const { left, top, width, height } = button.getBoundingClientRect();
    return { close: [left + width / 2, top + height / 2] };
  }
  return { covered: true };
}
