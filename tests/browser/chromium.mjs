// Drives a headless Chromium over its debugging pipe (two file descriptors, messages that end with a NUL): no port, no dependency.
// The protocol: https://chromedevtools.github.io/devtools-protocol/. What is tested is in pages.mjs.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/** Where a browser is: what CHROMIUM names, or the first on the path. */
export function findBrowser() {
  if (process.env.CHROMIUM) return existsSync(process.env.CHROMIUM) ? process.env.CHROMIUM : null;
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    for (const name of NAMES) if (existsSync(join(folder, name))) return join(folder, name);
  }
  return null;
}

/** Starts a browser in an empty profile. */
export async function start(path) {
  const profile = mkdtempSync(join(tmpdir(), "seedstorm-browser-"));
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions", "--hide-scrollbars", "--mute-audio",
    "--window-size=1280,800", `--user-data-dir=${profile}`, "--remote-debugging-pipe", "about:blank"];
  const child = spawn(path, flags, { stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"] });
  let errors = "";
  child.stderr.on("data", (text) => { errors = (errors + text).slice(-4000); });
  const browser = new Browser(child, profile);
  child.on("exit", (code) => browser.fail(`the browser ended with ${code}:\n${errors}`));
  child.on("error", (error) => browser.fail(`the browser can't be started: ${error.message}`));
  return browser;
}

class Browser {
  #child; #profile; #next = 1; #pending = new Map(); #rest = ""; #listeners = new Map();

  constructor(child, profile) {
    this.#child = child;
    this.#profile = profile;
    child.stdio[3].on("error", () => {});
    child.stdio[4].setEncoding("utf8");
    child.stdio[4].on("data", (text) => this.#receive(text));
  }

  #receive(text) {
    const parts = (this.#rest + text).split("\0");
    this.#rest = parts.pop();
    for (const part of parts) {
      const message = JSON.parse(part);
      if (message.id) {
        const { resolve, reject } = this.#pending.get(message.id) ?? {};
        this.#pending.delete(message.id);
        if (message.error) reject?.(new Error(message.error.message)); else resolve?.(message.result);
      } else this.#listeners.get(message.sessionId)?.(message);
    }
  }

  fail(why) {
    for (const { reject } of this.#pending.values()) reject(new Error(why));
    this.#pending.clear();
  }

  send(method, params = {}, sessionId = undefined) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  /** Opens an empty page. */
  async page() {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId, targetId);
    this.#listeners.set(sessionId, (message) => page.hear(message));
    for (const domain of ["Page", "Runtime", "Network", "Log"]) await page.send(`${domain}.enable`);
    await page.send("Emulation.setDeviceMetricsOverride", { width: 1280, height: 800, deviceScaleFactor: 1, mobile: false });
    return page;
  }

  async stop() {
    const gone = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.removeAllListeners("exit");
    this.#child.once("exit", () => {});
    this.send("Browser.close").catch(() => {});
    const late = setTimeout(() => this.#child.kill("SIGKILL"), 5000);
    if (this.#child.exitCode === null) await Promise.race([gone, new Promise((resolve) => this.#child.once("exit", resolve))]);
    clearTimeout(late);
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

class Page {
  #browser; #session; #target;
  /** What went wrong in the page, and what it asked for beside itself. */
  errors = [];
  requests = [];

  constructor(browser, session, target) {
    this.#browser = browser;
    this.#session = session;
    this.#target = target;
  }

  send(method, params) {
    return this.#browser.send(method, params, this.#session);
  }

  hear({ method, params }) {
    if (method === "Runtime.exceptionThrown") this.errors.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === "Log.entryAdded" && params.entry.level === "error") this.errors.push(params.entry.text);
    if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
  }

  /** Opens a URL, and waits until its page says that it is ready. Gives the time that took, in milliseconds. */
  async open(url, isReady = "document.readyState === 'complete'") {
    const begun = performance.now();
    const navigated = await this.send("Page.navigate", { url });
    if (navigated.errorText) throw new Error(`${url}: ${navigated.errorText}`);
    await this.until(isReady);
    return performance.now() - begun;
  }

  /** The value of an expression in the page. */
  async get(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value;
  }

  /** Waits until an expression holds. */
  async until(expression, within_ms = 20000) {
    const end = performance.now() + within_ms;
    for (;;) {
      const holds = await this.get(`(() => { try { return Boolean(${expression}); } catch { return false; } })()`).catch(() => false);
      if (holds) return;
      if (performance.now() > end) throw new Error(`it never came to hold: ${expression}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Waits until what is due is drawn. */
  frame() {
    return this.get("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(true))))");
  }

  async key(key, { shift = false } = {}) {
    const text = key.length === 1 ? key : undefined;
    const common = { key, text, modifiers: shift ? 8 : 0, code: key };
    await this.send("Input.dispatchKeyEvent", { type: "keyDown", ...common });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", key, modifiers: shift ? 8 : 0 });
    await this.frame();
  }

  async type(text) {
    await this.send("Input.insertText", { text });
  }

  async click(x, y, { shift = false } = {}) {
    const common = { x, y, button: "left", clickCount: 1, modifiers: shift ? 8 : 0 };
    await this.send("Input.dispatchMouseEvent", { type: "mouseMoved", x, y });
    await this.send("Input.dispatchMouseEvent", { type: "mousePressed", ...common });
    await this.send("Input.dispatchMouseEvent", { type: "mouseReleased", ...common });
    await this.frame();
  }

  /** Clicks into the middle of an element. */
  async clickOn(selector, options) {
    const place = await this.get(`(() => {
      const element = document.querySelector(${JSON.stringify(selector)});
      if (!element) return null;
      element.scrollIntoView({ block: "nearest" });
      const box = element.getBoundingClientRect();
      return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    })()`);
    if (!place) throw new Error(`there is no ${selector}`);
    await this.click(place.x, place.y, options);
  }

  async drag(x, y, toX, toY) {
    await this.send("Input.dispatchMouseEvent", { type: "mousePressed", x, y, button: "left", buttons: 1, clickCount: 1 });
    for (let part = 1; part <= 5; part++) {
      const at = { x: x + (toX - x) * part / 5, y: y + (toY - y) * part / 5 };
      await this.send("Input.dispatchMouseEvent", { type: "mouseMoved", ...at, button: "left", buttons: 1 });
    }
    await this.send("Input.dispatchMouseEvent", { type: "mouseReleased", x: toX, y: toY, button: "left", clickCount: 1 });
    await this.frame();
  }

  async wheel(x, y, by) {
    await this.send("Input.dispatchMouseEvent", { type: "mouseWheel", x, y, deltaX: 0, deltaY: by });
    await this.frame();
  }

  prefer(scheme) {
    return this.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
  }

  async screenshot() {
    const { data } = await this.send("Page.captureScreenshot", { format: "png" });
    return Buffer.from(data, "base64");
  }

  async pdf() {
    const { data } = await this.send("Page.printToPDF", { preferCSSPageSize: true, printBackground: true });
    return Buffer.from(data, "base64");
  }

  async close() {
    await this.#browser.send("Target.closeTarget", { targetId: this.#target });
  }
}
