// Firefox, driven by WebDriver BiDi, which it speaks by itself.

import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import WebSocket from "ws";
import { builtFile } from "./site.js";

const FIREFOX = process.env.FIREFOX ?? "/usr/bin/firefox-esr";

/** How long a page may take for what a test waits for, in milliseconds. */
const TIMEOUT = 20_000;

/** Starts Firefox with a profile of its own. */
export async function openFirefox() {
  const profile = await mkdtemp(join(tmpdir(), "trueup-firefox-"));
  const preferences = { "browser.download.folderList": 2, "browser.download.dir": profile, "app.normandy.enabled": false, "datareporting.policy.dataSubmissionEnabled": false };
  await writeFile(join(profile, "user.js"), Object.entries(preferences).map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`).join(""));
  const program = spawn(FIREFOX, ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"], { stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise((resolve) => program.once("exit", resolve));
  const socket = new WebSocket(`${await announced(program)}/session`);
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  const waiting = new Map();
  const listeners = [];
  let number = 0;
  const send = (method, params = {}) => {
    number += 1;
    socket.send(JSON.stringify({ id: number, method, params }));
    return new Promise((resolve, reject) => waiting.set(number, { resolve, reject }));
  };
  socket.on("message", (data) => {
    const message = JSON.parse(data);
    if (message.type === "event") return listeners.forEach((listen) => listen(message));
    const asked = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.type === "success") asked?.resolve(message.result);
    else asked?.reject(new Error(`${message.error}: ${message.message}`));
  });
  await send("session.new", { capabilities: { alwaysMatch: {} } });
  if (builtFile) {
    listeners.push(({ method, params }) => method === "network.beforeRequestSent" && params.isBlocked && serveBuilt(send, params.request));
    await send("session.subscribe", { events: ["network.beforeRequestSent"] });
    await send("network.addIntercept", { phases: ["beforeRequestSent"] });
  }
  return {
    /** Opens a page; `violations` of its policy are kept in it. */
    open: async (url) => {
      const { context } = await send("browsingContext.create", { type: "tab" });
      await send("script.addPreloadScript", { functionDeclaration: String(watch), contexts: [context] });
      await send("browsingContext.setViewport", { context, viewport: { width: 1280, height: 860 } });
      await send("browsingContext.navigate", { context, url, wait: "complete" });
      return new Page(send, context);
    },
    close: async () => {
      await send("browser.close").catch(() => undefined);
      socket.close();
      program.kill();
      await ended;
      await rm(profile, { recursive: true, maxRetries: 5 });
    },
  };
}

/** Runs in the page before its scripts: keeps what the policy refuses, and what the page saves. */
function watch() {
  globalThis.violations = [];
  globalThis.saved = [];
  addEventListener("securitypolicyviolation", (event) => globalThis.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
  addEventListener("error", (event) => globalThis.violations.push(event.message));
  const create = URL.createObjectURL.bind(URL);
  URL.createObjectURL = (blob) => {
    globalThis.saved.push(blob);
    return create(blob);
  };
}

class Page {
  #send;
  #context;

  constructor(send, context) {
    this.#send = send;
    this.#context = context;
  }

  /** Runs a function in the page, and returns what it returns. */
  async evaluate(body, ...given) {
    const { type, result, exceptionDetails } = await this.#send("script.callFunction", {
      functionDeclaration: `async (given) => JSON.stringify((await (${body})(...JSON.parse(given))) ?? null)`,
      arguments: [{ type: "string", value: JSON.stringify(given) }],
      awaitPromise: true,
      target: { context: this.#context },
    });
    if (type !== "success") throw new Error(exceptionDetails.text);
    return JSON.parse(result.value);
  }

  /** Waits until a function in the page returns something that counts as true, and returns that. */
  async waitFor(body, ...given) {
    for (const end = Date.now() + TIMEOUT; ; await pause(50)) {
      const found = await this.evaluate(body, ...given);
      if (found) return found;
      if (Date.now() > end) throw new Error(`this never came: ${body} of ${JSON.stringify(given)}`);
    }
  }

  /** Clicks with the pointer on what matches a selector and has a text that begins so. */
  async click(selector, text = "") {
    const { x, y } = await this.waitFor(centerOf, selector, text);
    await this.#send("input.performActions", {
      context: this.#context,
      actions: [{ type: "pointer", id: "pointer", actions: [{ type: "pointerMove", x, y }, { type: "pointerDown", button: 0 }, { type: "pointerUp", button: 0 }] }],
    });
  }

  /** Types with the keyboard. */
  async type(text) {
    const actions = [...text].flatMap((value) => [{ type: "keyDown", value }, { type: "keyUp", value }]);
    await this.#send("input.performActions", { context: this.#context, actions: [{ type: "key", id: "keyboard", actions }] });
  }
}

/** Runs in the page: returns where an element is, once it can be clicked. */
function centerOf(selector, text) {
  const found = [...document.querySelectorAll(selector)].find((element) => (element.ariaLabel ?? element.textContent).trim().startsWith(text));
  found?.scrollIntoView({ block: "nearest" });
  const { left, top, width, height } = found?.getBoundingClientRect() ?? {};
  const place = { x: Math.round(left + width / 2), y: Math.round(top + height / 2) };
  return width > 0 && found.contains(document.elementFromPoint(place.x, place.y)) ? place : null;
}

/** Answers with a file of the built page where there is one, and lets all else pass. */
async function serveBuilt(send, { request, url, method }) {
  const file = method === "GET" ? await builtFile(url) : null;
  if (!file) return send("network.continueRequest", { request }).catch(() => undefined);
  const headers = Object.entries(file.headers).map(([name, value]) => ({ name, value: { type: "string", value } }));
  await send("network.provideResponse", { request, statusCode: 200, headers, body: { type: "base64", value: file.body.toString("base64") } }).catch(() => undefined);
}

/** Returns the address that Firefox prints once it listens. */
function announced(program) {
  return new Promise((resolve, reject) => {
    createInterface({ input: program.stderr }).on("line", (line) => {
      const address = /ws:\/\/[\w.:]+/.exec(line);
      if (address) resolve(address[0]);
    });
    program.once("error", reject);
    program.once("exit", (code) => reject(new Error(`Firefox ended with ${code}`)));
  });
}
