// The page's own account of a trial: what it did, what reached a decoy, what came after the step was over.
// Frames report to the page that they lie in. Nothing of it is in the document, so that it is no effect.
(() => {
  const isTop = top === self;
  const trial = isTop ? globalThis.TRIAL : top.TRIAL;
  const account = isTop ? { did: [], decoys: [], late: [], mark: Infinity, dragging: false, heard: [], events: [] } : top.account;
  globalThis.account = account;
  let state = trial.seed;
  globalThis.random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };

  /** The page acted: on what, as the page means it at this moment. */
  globalThis.did = (what) => { account.did.push({ what: String(what).replace(/\s+/g, " ").trim(), late: Date.now() > account.mark + 5 }); };
  /** What a field holds now; a later value takes the place of an earlier one. */
  globalThis.entered = (field) => { account.did = account.did.filter((one) => !one.isValue); did(field.value.replace(/\n/g, " / ")); account.did.at(-1).isValue = true; };
  /** Undoes the account of an act that the page has taken back. */
  globalThis.undid = (what) => { account.did = account.did.filter((one) => one.what !== what); };
  /** Each element that matches says what it means when it is clicked, or gets another event. */
  globalThis.each = (selector, meaning, type = "click", root = document) => {
    for (const element of root.querySelectorAll(selector)) element.addEventListener(type, (event) => did(meaning(element, event)));
  };
  const texts = (elements, to) => elements.forEach((element, index) => { element.textContent = to[index]; });
  /** Shifts the texts of what matches, as a list does that is sorted and keeps its nodes. */
  globalThis.rotate = (selector, root = document) => {
    const elements = [...root.querySelectorAll(selector)];
    const old = elements.map((element) => element.textContent);
    texts(elements, [...old.slice(1), old[0]]);
  };
  globalThis.every = (span, action) => { action(0); let turn = 0; setInterval(() => action(++turn), span); };
  globalThis.spin = (until) => { while (Date.now() < until); };
  const at = (element, x, y) => { element.style.cssText += `;position:absolute;left:${x}px;top:${y}px;width:130px;height:50px;margin:0`; };
  globalThis.place = (element) => at(element, 20 + Math.floor(random() * 500), 60 + Math.floor(random() * 300));
  /** Puts a decoy where the target is; the target goes elsewhere, under it, or away. */
  globalThis.decoy = (target, other) => {
    const box = target.getBoundingClientRect();
    other.hidden = false;
    other.dataset.decoy = "";
    at(other, box.x + scrollX, box.y + scrollY);
    other.style.zIndex = 10;
    const fate = random();
    if (fate < 0.4) target.remove();
    else if (fate < 0.8) at(target, 620, 420);
    if (fate < 0.5) other.focus();
  };

  const TYPES = ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "auxclick", "dblclick", "contextmenu",
    "touchstart", "touchend", "keydown", "keypress", "keyup", "beforeinput", "input", "dragstart", "dragend", "drop"];
  const RELEASES = new Set(["pointerup", "mouseup", "keyup", "dragend"]);
  const note = (event) => {
    if (!event.isTrusted) return;
    const origin = event.composedPath()[0];
    const name = `${event.type} ${origin.id || origin.nodeName}`;
    account.events.push(name);
    if (event.type === "dragstart") account.dragging = true;
    if (event.type === "dragend" || event.type === "drop") account.dragging = false;
    if (origin.closest?.("[data-decoy]")) account.decoys.push(name);
    if (Date.now() > account.mark + 5 && !RELEASES.has(event.type)) account.late.push(name);
  };
  for (const type of TYPES) addEventListener(type, note, true);

  let change = () => {};
  /** What the page does at the moment of the trial. */
  globalThis.attack = (action) => { change = action; };
  const once = (type, action) => addEventListener(type, () => action(), { capture: true, once: true });
  const MOMENTS = {
    none: () => {},
    now: (go) => go(),
    soon: (go) => setTimeout(go, random() * 250),
    frame: (go) => {
      let left = 1 + Math.floor(random() * 20);
      const step = () => { if (--left < 0) go(); else requestAnimationFrame(step); };
      step();
    },
    scroll: (go) => once("scroll", go),
    over: (go) => once("mouseover", go),
    move: (go) => once("pointermove", go),
    focus: (go) => once("focusin", go),
    press: (go) => once("pointerdown", go),
    // About when the time of the step is over.
    deadline: (go) => setTimeout(go, trial.limit - 80 + random() * 160),
    // The page does not answer until about then.
    stall: (go) => once("pointermove", () => { spin(Date.now() + Math.max(0, began + trial.limit - 80 + random() * 160 - performance.now())); go(); }),
    stallPress: (go) => once("pointerdown", () => { spin(Date.now() + Math.max(0, began + trial.limit - 80 + random() * 160 - performance.now())); go(); }),
    stallKey: (go) => once("keydown", () => { spin(Date.now() + Math.max(0, began + trial.limit - 80 + random() * 160 - performance.now())); go(); }),
    busy: (go) => { every(60, () => spin(Date.now() + 45)); setTimeout(go, trial.limit - 80 + random() * 160); },
    interrupt: (go) => setTimeout(go, trial.limit - 60 + random() * 120),
  };
  // Frames report to the page; they are not asked.
  if (!isTop) return;
  let began = 0;
  account.begin = () => { began = performance.now(); MOMENTS[trial.moment](() => change()); };
  account.over = () => { account.mark = Date.now(); };
  /** The whole account, once all is quiet. */
  account.end = () => {
    account.mark = Infinity;
    const active = document.querySelector(":active");
    return { did: account.did, decoys: account.decoys, late: account.late, events: account.events.slice(-40),
      held: active ? `${active.nodeName} is active` : account.dragging ? "a drag goes on" : null };
  };
  /** A button for a person; the middle of it. */
  account.person = () => {
    const button = document.createElement("button");
    button.style.cssText = "position:fixed;left:0;top:0;width:80px;height:40px;z-index:2147483647";
    account.heard = [];
    for (const type of ["pointerdown", "mousedown", "pointerup", "mouseup", "click"]) button.addEventListener(type, () => account.heard.push(type));
    (document.querySelector("dialog[open]") ?? document.body).append(button);
    account.button = button;
    return [40, 20];
  };
  account.leave = () => { account.button.remove(); return account.heard.length === 5; };

  if (trial.moment === "scroll") {
    addEventListener("DOMContentLoaded", () => {
      const spacer = document.createElement("div");
      spacer.style.height = "860px";
      document.body.prepend(spacer);
    });
  }
})();
