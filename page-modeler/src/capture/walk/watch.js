  // Marks the document dirty; whoever asks compares generations.
  let generation = 0;
  const bump = () => { generation++; };
  const observer = new MutationObserver(bump);
  const watched = new WeakSet();
  const watch = (root) => {
    if (watched.has(root)) return;
    watched.add(root);
    observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
    for (const name of ["input", "change", "focusin", "focusout", "toggle", "slotchange", "load", "transitionend"]) root.addEventListener(name, bump, { capture: true, passive: true });
  };

  const examined = new WeakSet();
