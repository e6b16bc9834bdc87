// What the build and the tests share: the settings of esbuild, and the module of synonyms.

import { readFile } from "node:fs/promises";

const SYNONYMS = new URL("../../../trueup-core/src/dictionary/synonyms.rs", import.meta.url);

/** The lines of the table in `synonyms.rs`, such as `("calls", &["conversions", "leads"]),`. */
const LINE = /^ {4}\("([^"]+)", &\[((?:"[^"]+"(?:, )?)+)\]\),$/gm;

/** Resolves the module `trueup:synonyms` to the table of the dictionary, so that it has one source. */
const synonyms = {
  name: "synonyms",
  setup(build) {
    build.onResolve({ filter: /^trueup:synonyms$/ }, ({ path }) => ({ path, namespace: "trueup" }));
    build.onLoad({ filter: /.*/, namespace: "trueup" }, async () => {
      const table = [...(await readFile(SYNONYMS, "utf8")).matchAll(LINE)];
      if (table.length < 20) throw new Error(`expected the table of synonyms in ${SYNONYMS.pathname}`);
      const entries = table.map(([, name, fields]) => [name, JSON.parse(`[${fields}]`)]);
      return { contents: JSON.stringify(entries), loader: "json" };
    });
  },
};

/** Settings that make the same bytes of the same sources on every machine. */
export const settings = {
  bundle: true,
  format: "esm",
  charset: "utf8",
  jsx: "automatic",
  jsxImportSource: "preact",
  absWorkingDir: new URL("..", import.meta.url).pathname,
  plugins: [synonyms],
  logLevel: "warning",
};
