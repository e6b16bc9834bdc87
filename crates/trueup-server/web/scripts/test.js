// Runs the unit tests with Node's own test runner, which does not read TypeScript in every version.

import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { settings } from "./bundle.js";

const tests = (await readdir(new URL("../tests/unit/", import.meta.url))).filter((name) => name.endsWith(".test.ts"));
const folder = await mkdtemp(join(tmpdir(), "trueup-web-"));
let status;
try {
  const entryPoints = tests.map((name) => `tests/unit/${name}`);
  await build({ ...settings, entryPoints, outdir: folder, platform: "node", outExtension: { ".js": ".mjs" } });
  const built = tests.map((name) => join(folder, name.replace(/\.ts$/, ".mjs")));
  ({ status } = spawnSync(process.execPath, ["--test", ...built], { stdio: "inherit" }));
} finally {
  await rm(folder, { recursive: true });
}
process.exit(status ?? 1);
