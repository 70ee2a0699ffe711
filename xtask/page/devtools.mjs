// A browser without a window, driven by its DevTools protocol over two pipes: what `tries.mjs` does its tries with.
//
// No name but the loopback's resolves, so that nothing can leave this machine; what a page asks for is noted besides.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// How long anything may take that a page does.
const PATIENCE_MS = 20_000;
const BETWEEN_LOOKS_MS = 50;

export class Browser {
  #process;
  #profile;
  #answers = new Map();
  #listeners = new Set();
  #next = 1;
  #unfinished = "";

  static async start(program) {
    const browser = new Browser();
    browser.#profile = mkdtempSync(join(tmpdir(), "fulgurite-browser-"));
    const options = [
      "--headless=new",
      "--remote-debugging-pipe",
      `--user-data-dir=${browser.#profile}`,
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-default-apps",
      "--disable-extensions",
      "--disable-gpu",
      "--disable-sync",
      "--no-default-browser-check",
      "--no-first-run",
      "--window-size=1200,900",
    ];
    // As root the sandbox does not start; the pages are our own.
    if (process.getuid?.() === 0) options.push("--no-sandbox");
    browser.#process = spawn(program, [...options, "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    const ended = new Promise((_, reject) => {
      browser.#process.on("error", (error) => reject(new Error(`${program} cannot start: ${error.message}`)));
      browser.#process.on("exit", (code) => {
        const error = new Error(`${program} has ended with ${code}`);
        browser.#answers.forEach(({ reject }) => reject(error));
        reject(error);
      });
    });
    ended.catch(() => {});
    browser.#process.stdio[3].on("error", () => {});
    browser.#process.stdio[4].setEncoding("utf8").on("data", (text) => browser.#take(text));
    await Promise.race([browser.send("Browser.getVersion"), ended]);
    return browser;
  }

  #take(text) {
    const messages = (this.#unfinished + text).split("\0");
    this.#unfinished = messages.pop();
    for (const message of messages.map((message) => JSON.parse(message))) {
      const answer = this.#answers.get(message.id);
      this.#answers.delete(message.id);
      if (answer && message.error) answer.reject(new Error(`${answer.method}: ${message.error.message}`));
      else if (answer) answer.resolve(message.result);
      else this.#listeners.forEach((listener) => listener(message));
    }
  }

  send(method, params = {}, sessionId = undefined) {
    const id = this.#next++;
    this.#process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => this.#answers.set(id, { method, resolve, reject }));
  }

  listen(listener) {
    this.#listeners.add(listener);
  }

  async open(url) {
    // A context of its own: nothing that another page has stored is there.
    const { browserContextId } = await this.send("Target.createBrowserContext");
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank", browserContextId });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId);
    await page.begin(url);
    return page;
  }

  async close() {
    const gone = new Promise((resolve) => this.#process.on("exit", resolve));
    await this.send("Browser.close").catch(() => {});
    await gone;
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

export class Page {
  // URLs that were asked for.
  requests = [];
  // What the content security policy has refused, and errors of scripts.
  complaints = [];
  #browser;
  #session;

  constructor(browser, session) {
    this.#browser = browser;
    this.#session = session;
  }

  async begin(url) {
    this.#browser.listen(({ method, params, sessionId }) => {
      if (sessionId !== this.#session) return;
      if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
      if (method === "Network.webSocketCreated") this.requests.push(params.url);
      if (method === "Runtime.exceptionThrown") this.complaints.push(params.exceptionDetails.exception?.description);
      if (method === "Audits.issueAdded" && params.issue.code === "ContentSecurityPolicyIssue") {
        const { violatedDirective, blockedURL } = params.issue.details.contentSecurityPolicyIssueDetails;
        this.complaints.push(`${violatedDirective} refuses ${blockedURL ?? "what stands in the page"}`);
      }
    });
    for (const domain of ["Network", "Runtime", "Page", "Audits"]) await this.#send(`${domain}.enable`);
    await this.go(url);
  }

  async go(url) {
    await this.#send("Page.navigate", { url });
    await this.until("document.readyState === 'complete'", `${url} is read`);
  }

  #send(method, params = {}) {
    return this.#browser.send(method, params, this.#session);
  }

  // The value of an expression, in the page. Promises are waited for.
  async value(expression) {
    const asked = { expression, awaitPromise: true, returnByValue: true, userGesture: true };
    const { result, exceptionDetails } = await this.#send("Runtime.evaluate", asked);
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value;
  }

  // Waits until an expression is true.
  async until(expression, what) {
    const begun = Date.now();
    while (Date.now() - begun < PATIENCE_MS) {
      if (await this.value(`!!(${expression})`)) return;
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_LOOKS_MS));
    }
    const shown = await this.value("document.body.innerText");
    throw new Error(`after ${PATIENCE_MS / 1000} s it is not so that ${what}; the page shows:\n${shown}\n${this.complaints.join("\n")}`);
  }

  // Clicks into the middle of an element, with the mouse.
  async click(selector) {
    const place = await this.value(`(() => {
      const element = document.querySelector(${JSON.stringify(selector)});
      element.scrollIntoView({ block: "center" });
      const { x, y, width, height } = element.getBoundingClientRect();
      return { x: x + width / 2, y: y + height / 2 };
    })()`);
    for (const type of ["mousePressed", "mouseReleased"]) {
      await this.#send("Input.dispatchMouseEvent", { type, ...place, button: "left", clickCount: 1 });
    }
  }

  // Types a text in place of what an editor holds.
  async write(selector, text) {
    await this.click(selector);
    await this.key("a", 65, CONTROL, ["selectAll"]);
    await this.#send("Input.insertText", { text });
  }

  async key(key, windowsVirtualKeyCode, modifiers = 0, commands = []) {
    for (const type of ["rawKeyDown", "keyUp"]) {
      await this.#send("Input.dispatchKeyEvent", { type, key, windowsVirtualKeyCode, modifiers, commands });
    }
  }
}

export const CONTROL = 2;
