#!/usr/bin/env node
// Runs the binary from the package of this platform, with the arguments, input and output of this process.
"use strict";

const { spawn } = require("node:child_process");

const platform = `${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`countersign-${platform}/bin/countersign`);
} catch {
  const supported = Object.keys(require("../package.json").optionalDependencies);
  const name = `countersign-${platform}`;
  console.error(
    supported.includes(name)
      ? `countersign: the package ${name} is missing; install again without --omit=optional`
      : `countersign: no binary for ${platform}; build it from source with cargo`,
  );
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// Ctrl-C reaches the child from the terminal. Other signals are passed on.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`countersign: cannot run ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) {
    process.exit(code);
  }
  // End in the same way as the child.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
