// Overrides what an automation script would use, and counts every use and every mutation that is
// not this page's own. Whoever works from an isolated world leaves the count at 0.
"use strict";
(() => {
  window.__noticed = 0;
  window.__noticedWhat = {};
  let armed = false;
  let observer = null;
  const showCount = Object.getOwnPropertyDescriptor(Node.prototype, "textContent").set;
  const find = document.getElementById.bind(document);
  const notice = (what) => {
    if (!armed) return;
    window.__noticed += 1;
    window.__noticedWhat[what] = (window.__noticedWhat[what] || 0) + 1;
    const counter = find("noticed");
    if (counter) own(() => showCount.call(counter, String(window.__noticed)));
    fetch("/hit?name=hostile.noticed", { method: "POST", keepalive: true });
  };
  // What the page itself changes is taken from the observer before it can count.
  const own = (change) => {
    if (observer) count(observer.takeRecords());
    change();
    if (observer) observer.takeRecords();
  };
  const count = (records) => { for (const record of records) notice("mutation " + record.type); };
  window.__own = own;

  const lie = (holder, name, answer) => {
    Object.defineProperty(holder, name, {
      configurable: true, enumerable: false, writable: true,
      value: function () { notice(name); return answer; },
    });
  };
  for (const name of ["map", "filter", "forEach", "find", "some", "every", "includes", "indexOf", "push", "join", "slice", "concat", "reduce"]) {
    lie(Array.prototype, name, undefined);
  }
  lie(JSON, "stringify", '"nothing to see"');
  lie(JSON, "parse", null);
  for (const name of ["querySelector", "querySelectorAll", "evaluate", "createTreeWalker", "elementFromPoint", "elementsFromPoint"]) {
    lie(Document.prototype, name, null);
  }
  lie(document, "querySelector", null);
  for (const name of ["querySelector", "querySelectorAll", "closest", "matches", "getAttribute", "setAttribute", "hasAttribute", "getBoundingClientRect", "getClientRects", "scrollIntoView", "scrollIntoViewIfNeeded", "checkVisibility", "attachShadow"]) {
    lie(Element.prototype, name, null);
  }
  lie(HTMLElement.prototype, "focus", undefined);
  lie(HTMLElement.prototype, "click", undefined);
  lie(Node.prototype, "contains", false);
  lie(Node.prototype, "appendChild", null);
  lie(EventTarget.prototype, "dispatchEvent", false);
  lie(window, "getComputedStyle", null);

  const listen = EventTarget.prototype.addEventListener;
  const Observer = MutationObserver;
  window.MutationObserver = function () { notice("MutationObserver"); };
  listen.call(window, "load", () => {
    observer = new Observer(count);
    observer.observe(document.documentElement, {
      subtree: true, childList: true, attributes: true, attributeOldValue: true,
      characterData: true, characterDataOldValue: true,
    });
    armed = true;
  });
})();
