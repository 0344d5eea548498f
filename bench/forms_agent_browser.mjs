// agent-browser's side of `cargo xtask bench --forms`: its commands as its user runs them, those of the form as one batch.
//
// node bench/forms_agent_browser.mjs --modules DIR --chrome FILE --url URL --form FILE --rounds N
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { promisify } from "node:util";
import { Samples, expect, expectHeld, readArguments } from "./common.mjs";

const options = readArguments(["modules", "chrome", "url", "form", "rounds"]);
const require = createRequire(path.join(path.resolve(options.modules), "/"));
const folder = path.dirname(require.resolve("agent-browser/package.json"));
// The native program itself: its JavaScript wrapper would add the start of a Node to every command.
const program = path.join(folder, "bin", `agent-browser-${process.platform}-${process.arch}`);
const session = `cuebook-forms-${process.pid}`;
const environment = { ...process.env, AGENT_BROWSER_SESSION: session, AGENT_BROWSER_EXECUTABLE_PATH: options.chrome };
if (process.getuid?.() === 0) environment.AGENT_BROWSER_ARGS = "--no-sandbox";
const form = JSON.parse(readFileSync(options.form, "utf8"));

async function run(...words) {
  return (await promisify(execFile)(program, words, { env: environment, timeout: 60_000 })).stdout;
}

async function batch(commands) {
  const running = promisify(execFile)(program, ["batch", "--bail"], { env: environment, timeout: 60_000 });
  running.child.stdin.end(JSON.stringify(commands));
  return (await running).stdout;
}

const held = async () => JSON.parse(JSON.parse(await run("eval", "held()")));

/** `fill` leaves a date field empty and reports that it is done, so its digits are pressed. */
function enter({ kind, value }, target) {
  if (kind === "select") return [["select", target, value]];
  if (kind === "check") return [["check", target]];
  if (kind === "text") return [["fill", target, value]];
  const [year, ...rest] = value.split("-");
  return [["focus", target], ...Array.from([...rest, year].join(""), (digit) => ["press", digit])];
}

function referenceOf(snapshot, { kind, label }) {
  // A date field has no reference of its own: that of its month stands below it.
  const within = kind === "date" ? snapshot.slice(snapshot.indexOf(`"${label} "`)) : snapshot;
  const name = kind === "date" ? "Month" : label;
  const [, reference] = within.match(new RegExp(`- (?!StaticText)\\w+ " ?${name}.*?\\bref=(\\w+)`)) ?? [];
  expect(reference, `expected a reference of ${label}`);
  return `@${reference}`;
}

const samples = new Samples();
try {
  for (let round = 0; round <= options.rounds; round += 1) {
    let began = performance.now();
    await batch([["open", options.url], ...form.fields.flatMap((field) => enter(field, `[name=${field.name}]`))]);
    const filled = performance.now() - began;
    expectHeld(await held(), form, 0);
    began = performance.now();
    await run("close");
    if (round > 0) samples.put("process", filled + performance.now() - began);
  }
  for (let round = 0; round <= options.rounds; round += 1) {
    await run("open", options.url);
    const first = await run("snapshot");
    const known = form.fields.flatMap((field) => enter(field, referenceOf(first, field)));
    await samples.time("form.look", round, async () => {
      await samples.time("form.fill", round, () => batch(known));
      return run("snapshot");
    });
    expectHeld(await held(), form, 0);
  }
  for (let round = 0; round <= options.rounds; round += 1) {
    const seen = await samples.time("loop", round, async () => {
      const target = referenceOf(await run("snapshot"), { label: "Add a night" });
      await samples.time("click", round, () => run("click", target));
      return run("snapshot");
    });
    expect(seen.includes(`${round + 2} nights`), `expected ${round + 2} nights in the snapshot after the click`);
  }
  expectHeld(await held(), form, options.rounds + 1);
  samples.print();
} finally {
  await run("close").catch(() => {});
}
