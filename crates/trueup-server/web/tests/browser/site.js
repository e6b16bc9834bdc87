// What the tests in a browser run against: the program, serving a demo, and Chromium.

import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { chromium } from "playwright-core";

const run = promisify(execFile);

/** The program to test, and the browser to test it in. */
const PROGRAM = process.env.TRUEUP_PROGRAM ?? fileURLToPath(new URL("../../../../../target/debug/trueup", import.meta.url));
const BROWSER = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** Where screenshots go. */
export const SCREENSHOTS = process.env.TRUEUP_SCREENSHOTS ?? fileURLToPath(new URL("../../../../../target/explorer-screenshots", import.meta.url));

/** Makes a demo, serves it, and starts a browser. */
export async function openSite() {
  const folder = await mkdtemp(join(tmpdir(), "trueup-explorer-"));
  const dataset = join(folder, "demo");
  const trueup = async (...args) => (await run(PROGRAM, args, { maxBuffer: 1 << 26 })).stdout.trim();
  await trueup("demo", dataset);
  const createKey = () => trueup("keys", "create", dataset, "demo@example.com");
  const server = spawn(PROGRAM, ["serve", dataset, "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "pipe"] });
  const origin = await announced(server);
  const browser = await chromium.launch({ executablePath: BROWSER, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  const close = async () => {
    await browser.close();
    server.kill("SIGTERM");
    await rm(folder, { recursive: true });
  };
  return { origin, dataset, trueup, createKey, browser, close };
}

/** Returns the address that the server prints once it listens. */
function announced(server) {
  return new Promise((resolve, reject) => {
    const read = (stream) =>
      createInterface({ input: stream }).on("line", (line) => {
        const address = /http:\/\/[\w.:[\]]+/.exec(line);
        if (address) resolve(address[0]);
      });
    read(server.stdout);
    read(server.stderr);
    server.on("exit", (code) => reject(new Error(`the server ended with ${code}`)));
  });
}
