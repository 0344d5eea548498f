#!/usr/bin/env node
// Runs the program of the package for this platform, which npm installed as an optional dependency: with the same
// arguments, streams, signals and exit code. Nothing is downloaded here.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

/** C libraries whose programs run here, the better first. A program for musl is linked statically, so it runs everywhere. */
function libraries() {
  if (process.platform !== "linux") return [""];
  process.report.excludeNetwork = true;
  const isGnu = Boolean(process.report.getReport().header.glibcVersionRuntime);
  return isGnu ? ["", "-musl"] : ["-musl"];
}

function program() {
  const packages = libraries().map((library) => `@cuebook/${process.platform}-${process.arch}${library}`);
  const file = process.platform === "win32" ? "cuebook.exe" : "cuebook";
  for (const name of packages) {
    try {
      return require.resolve(`${name}/${file}`);
    } catch {
      // Another one may be there.
    }
  }
  const known = Object.keys(require("../package.json").optionalDependencies);
  const why = packages.some((name) => known.includes(name))
    ? "it is not installed: install cuebook again, with optional dependencies"
    : `there is no program for this platform; those there are: ${known.join(", ")}`;
  process.stderr.write(`cuebook: expected the package ${packages.join(" or ")}, but ${why}\n`);
  process.exit(1);
}

const child = spawn(program(), process.argv.slice(2), { stdio: "inherit", windowsHide: true });

// A terminal sends Ctrl-C and Ctrl-\ to the program itself as well; twice would mean to stop at once.
const isAtTerminal = [0, 1, 2].some((stream) => require("node:tty").isatty(stream));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGBREAK"]) {
  // Each system has only some of them.
  if (!(signal in constants.signals)) continue;
  process.on(signal, () => {
    const isSent = isAtTerminal && (signal === "SIGINT" || signal === "SIGQUIT" || signal === "SIGBREAK");
    if (!isSent) child.kill(signal);
  });
}

child.on("error", (error) => {
  process.stderr.write(`cuebook: ${error.message}\n`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (!signal) process.exit(code ?? 1);
  // Ends as the program did, so that whoever waits sees the signal.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
