// agent-browser's side of `cargo xtask bench`. It is a command line in front of a daemon: what is measured
// is one command from its start to its end, which is how it is used; starting a process is part of that.
//
// node bench/agent_browser.mjs --modules DIR --chrome FILE --url URL --rounds N --viewport WxH --text FILE
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { promisify } from "node:util";
import { Samples, TYPED, change, countedClicks, expect, readArguments } from "./common.mjs";

const options = readArguments(["modules", "chrome", "url", "rounds", "viewport", "text"]);
const require = createRequire(path.join(path.resolve(options.modules), "/"));
const folder = path.dirname(require.resolve("agent-browser/package.json"));
// The native program itself: its JavaScript wrapper would add the start of a Node to every command.
const program = path.join(folder, "bin", `agent-browser-${process.platform}-${process.arch}`);
const session = `cuebook-bench-${process.pid}`;
const environment = { ...process.env, AGENT_BROWSER_SESSION: session, AGENT_BROWSER_EXECUTABLE_PATH: options.chrome };
if (process.getuid?.() === 0) environment.AGENT_BROWSER_ARGS = "--no-sandbox";

const run = async (...words) => {
  const limits = { env: environment, timeout: 60_000, maxBuffer: 1 << 26 };
  return (await promisify(execFile)(program, words, limits)).stdout;
};

try {
  const samples = new Samples();
  const { width, height } = options.viewport;
  await run("open", options.url);
  await run("set", "viewport", String(width), String(height));
  for (let round = 0; round <= options.rounds; round += 1) {
    await run("open", options.url);
    await run("wait", "300");
    const first = await samples.time("observe", round, () => run("snapshot"));
    expect(first.includes('button "Button 0"'), "expected the grid's first button in the snapshot");
    if (round === 0) writeFileSync(options.text, first);
  }
  for (let round = 0; round <= options.rounds; round += 1) {
    await run("eval", change(round));
    const seen = await samples.time("observe.delta", round, () => run("snapshot"));
    expect(seen.includes(`"Changed ${round}"`), "expected the changed button in the snapshot");
  }
  for (let round = 0; round <= options.rounds; round += 1) {
    await samples.time("loop", round, async () => {
      const [, reference] = (await run("snapshot")).match(/button "Button 0".*?\[?ref=(\w+)\]?/) ?? [];
      await run("click", `@${reference}`);
      return run("snapshot");
    });
  }
  const snapshot = await run("snapshot");
  const referenceOf = (what) => {
    const [, reference] = snapshot.match(new RegExp(`${what}.*?\\[?ref=(\\w+)\\]?`)) ?? [];
    expect(reference, `expected a reference of ${what}`);
    return `@${reference}`;
  };
  const button = referenceOf('button "Button 0"');
  const field = referenceOf('textbox "Field 0"');
  const before = await countedClicks(options.url);
  for (let round = 0; round <= options.rounds; round += 1) {
    await samples.time("click", round, () => run("click", button));
  }
  for (let round = 0; round <= options.rounds; round += 1) {
    await samples.time("setValue", round, () => run("fill", field, `value ${round}`));
  }
  for (let round = 0; round <= options.rounds; round += 1) {
    await run("fill", field, "");
    await samples.time("type20", round, () => run("type", field, TYPED));
  }
  await run("wait", "500");
  const clicks = (await countedClicks(options.url)) - before;
  expect(clicks === options.rounds + 1, `expected the server to count ${options.rounds + 1} clicks, saw ${clicks}`);
  samples.print();
} finally {
  await run("close").catch(() => {});
}
