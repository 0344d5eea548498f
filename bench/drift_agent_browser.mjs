// agent-browser's side of `cargo xtask soak --drifts N --peers`: its core loop of snapshot and reference, with the
// reference of the element of this role and name. A reference that is not there yet is waited for, as long as a step of
// cuebook may take. A tab and a cookie jar for each job.
//
// node bench/drift_agent_browser.mjs --modules DIR --chrome FILE --viewport WxH
import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { readArguments, serve } from "./common.mjs";

/** The time of one of cuebook's steps, and between two snapshots, in milliseconds. */
const STEP = 10_000;
const POLL = 200;

const options = readArguments(["modules", "chrome", "viewport"]);
const require = createRequire(path.join(path.resolve(options.modules), "/"));
const manifest = require.resolve("agent-browser/package.json");
// The native program itself: its JavaScript wrapper would add the start of a Node to every command.
const program = path.join(path.dirname(manifest), "bin", `agent-browser-${process.platform}-${process.arch}`);
const environment = {
  ...process.env,
  AGENT_BROWSER_SESSION: `cuebook-drift-${process.pid}`,
  AGENT_BROWSER_EXECUTABLE_PATH: options.chrome,
  AGENT_BROWSER_DEFAULT_TIMEOUT: String(STEP),
};
if (process.getuid?.() === 0) environment.AGENT_BROWSER_ARGS = "--no-sandbox";

async function run(...words) {
  try {
    const limits = { env: environment, timeout: 60_000, maxBuffer: 1 << 26 };
    return (await promisify(execFile)(program, words, limits)).stdout;
  } catch (error) {
    const said = `${error.stderr ?? ""}${error.stdout ?? ""}`.trim();
    throw new Error(`${words[0]}: ${said || error.message}`);
  }
}

/** A date field has a role of its own in snapshots, and no reference: those of its month, day and year stand below. */
const DATE = "Date";
const ROLES = { textbox: ["textbox", DATE] };

/** The lines of this role and name; with `within`, those in a row or an article that contains the text. */
function matching(snapshot, { role, name, within }) {
  const lines = snapshot.split("\n").map((text) => {
    const [, indent, seenRole, seenName, ref] =
      text.match(/^(\s*)- (\w+)(?: "(.*?)"(?=$|:| \[))?.*?(?:\bref=(\w+))?\]?(?::.*)?$/) ?? [];
    return { text, depth: indent?.length ?? -1, role: seenRole, name: seenName, ref };
  });
  const inside = (at) => {
    const end = lines.findIndex(({ depth }, index) => index > at && depth <= lines[at].depth);
    return lines.slice(at, end === -1 ? undefined : end);
  };
  const contains = (at) => inside(at).some(({ text }) => text.includes(within));
  const monthOf = (at) => inside(at).find((line) => line.role === "spinbutton")?.ref;
  const isWithin = (at) => {
    let depth = lines[at].depth;
    for (let above = at - 1; above >= 0; above -= 1) {
      if (lines[above].depth >= depth) continue;
      depth = lines[above].depth;
      if (["row", "article"].includes(lines[above].role) && contains(above)) return true;
    }
    return false;
  };
  const roles = ROLES[role] ?? [role];
  return lines
    .map((line, at) => ({ ...line, at }))
    .map((line) => (line.role === DATE ? { ...line, ref: monthOf(line.at) } : line))
    .filter((line) => line.ref && roles.includes(line.role) && line.name === name)
    .filter((line) => !within || isWithin(line.at));
}

async function found(target) {
  const until = performance.now() + STEP;
  for (;;) {
    const lines = matching(await run("snapshot"), target);
    if (lines.length === 1) return lines[0];
    if (performance.now() >= until) {
      throw new Error(`snapshot: expected one ${target.role} "${target.name}", saw ${lines.length}`);
    }
    await pause(POLL);
  }
}

/** 0.27.0's `fill` leaves a date field empty, and reports that it is done. */
async function enterDate(month, value) {
  const [year, ...rest] = value.split("-");
  await run("click", month);
  for (const digit of [...rest, year].join("")) await run("press", digit);
}

async function perform(step) {
  const { ref: known, role } = await found(step);
  const ref = `@${known}`;
  // 0.27.0 clicks below the fold without scrolling there, and reports that it is done.
  await run("scrollintoview", ref);
  if (role === DATE) await enterDate(ref, step.value);
  else if (step.type === "click" || step.type === "check") await run(step.type, ref);
  else if (step.type === "type" || step.type === "setValue") await run("fill", ref, step.value);
  else if (step.type === "select") await run("select", ref, step.value);
  else throw new Error(`no such step: ${step.type}`);
  // The documentation has globs (`**/dashboard`); 0.27.0 takes the pattern as a part of the URL.
  if (step.url) await run("wait", "--url", step.url);
}

const tabs = async () => (await run("tab")).matchAll(/^(→|\s)\s*\[(t\d+)\]/gm);

try {
  const { width, height } = options.viewport;
  await run("open");
  await serve({
    about: async () => ({ version: require(manifest).version, browser: await run("eval", "navigator.userAgent") }),
    async begin() {
      // What covers a page is remembered by its tab.
      await run("tab", "new");
      for (const [, mark, tab] of await tabs()) if (mark !== "→") await run("tab", "close", tab);
      await run("cookies", "clear");
      await run("set", "viewport", String(width), String(height));
      return (await run("get", "cdp-url")).trim();
    },
    async look({ url }) {
      await run("open", url);
      const [, main] = (await run("snapshot")).split("\n- main\n");
      return Array.from(main.matchAll(/^\s+- (?:heading|button) "(.*?)" \[/gm), ([, name]) => name);
    },
    async play({ url, steps }) {
      await run("open", url);
      for (const step of steps) await perform(step);
    },
    end: () => run("open", "about:blank"),
  });
} finally {
  await run("close").catch(() => {});
}
