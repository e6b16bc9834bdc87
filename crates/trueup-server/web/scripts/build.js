// Builds the page into `dist`, or with `--compare` compares `dist` with what the sources build.

import { build } from "esbuild";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { settings } from "./bundle.js";

const dist = new URL("../dist/", import.meta.url);

/** Returns the files of `dist` by name. */
async function buildFiles() {
  const { outputFiles } = await build({
    ...settings,
    entryPoints: ["src/main.tsx"],
    entryNames: "[name]-[hash]",
    outdir: "dist",
    target: ["chrome109", "firefox115", "safari16.4"],
    minify: true,
    write: false,
    banner: { js: "/* Contains Preact: MIT License, Copyright (c) 2015-present Jason Miller. */" },
  });
  const files = new Map(outputFiles.map((file) => [basename(file.path), file.text]));
  const named = (end) => [...files.keys()].find((name) => name.endsWith(end));
  const page = await readFile(new URL("../src/page.html", import.meta.url), "utf8");
  files.set("page.html", page.replace("main.js", named(".js")).replace("main.css", named(".css")));
  files.set(
    "assets.rs",
    "// Made by `npm run build` in `crates/trueup-server/web`.\n[\n" +
      [named(".css"), named(".js")].map((name) => `    ("${name}", include_bytes!("${name}")),\n`).join("") +
      "]\n",
  );
  return files;
}

const files = await buildFiles();
if (process.argv.includes("--compare")) {
  const committed = await readdir(dist);
  const differing = [];
  for (const name of new Set([...committed, ...files.keys()])) {
    const text = committed.includes(name) ? await readFile(new URL(name, dist), "utf8") : undefined;
    if (text !== files.get(name)) differing.push(name);
  }
  if (differing.length > 0) {
    console.error(`web/dist is not what the sources build (${differing.sort().join(", ")}): run \`npm run build\``);
    process.exit(1);
  }
} else {
  await rm(dist, { recursive: true, force: true });
  await mkdir(dist);
  for (const [name, text] of files) await writeFile(new URL(name, dist), text);
}
for (const [name, text] of files) console.log(`${name}: ${Buffer.byteLength(text)} bytes`);
