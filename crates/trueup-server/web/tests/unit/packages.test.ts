import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const PERMISSIVE = ["MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0"];

/** Only the tests use these; the page contains nothing of them. */
const EXCEPTIONS: Record<string, string> = { "node_modules/axe-core": "MPL-2.0" };

test("packages have permissive licenses, and the lock file names no registry", () => {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as { packages: Record<string, { license?: string; resolved?: string }> };
  const { "": page, ...others } = packages;
  assert.ok(page && Object.keys(others).length > 5);
  for (const [path, { license = "none", resolved }] of Object.entries(others)) {
    assert.ok(PERMISSIVE.includes(license) || EXCEPTIONS[path] === license, `${path} has the license ${license}`);
    assert.equal(resolved, undefined, path);
  }
});

test("versions are exact", () => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync("package.json", "utf8"));
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) assert.match(String(version), /^\d+\.\d+\.\d+$/, name);
});
