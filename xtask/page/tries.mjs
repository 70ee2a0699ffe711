// Tries the pages of `fulgurite rdf serve` in a real browser: `node tries.mjs PROGRAM CHROMIUM DIRECTORY PAGE…`, where each PAGE is `own=PATH` or
// `yasgui=PATH`. `cargo xtask page --browser` runs it.
//
// On each page: a query is typed and run, and its rows are in the table; a broken one shows the error with its place; an update changes the
// store; what a store holds is text and not markup; nothing is run by a link; and nothing is asked of anybody but the server.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { Browser, CONTROL } from "./devtools.mjs";

const HOSTILE = "<img src=x onerror=\"document.title='taken over'\"><script>document.title='taken over'</script>";
const SAMPLE = `@prefix tree: <http://trees.example/> .
tree:ash a tree:Tree ; tree:height 40 .
tree:oak a tree:Tree ; tree:height 35 .
tree:yew a tree:Tree ; tree:height 20 .
tree:hostile tree:note ${JSON.stringify(HOSTILE)} .
`;
const HEIGHTS = "SELECT ?tree ?height { ?tree <http://trees.example/height> ?height } ORDER BY DESC(?height)";
const NOTES = "SELECT ?note { ?tree <http://trees.example/note> ?note }";
const BROKEN = "SELECT * WHERE { ?s ?p }";
const planted = (tree) => `INSERT DATA { <http://trees.example/${tree}> <http://trees.example/height> 50 }`;

// What the tries have to know of a page.
const PAGES = {
  own: {
    ready: "document.querySelector('#run')",
    editor: "#text",
    rows: "document.querySelectorAll('#answer tbody tr')",
    error: "document.querySelector('#error:not([hidden])')",
    async run(page, text, isUpdate) {
      await page.value(`document.querySelector('#kind').value = ${JSON.stringify(isUpdate ? "update" : "query")}`);
      await page.write(this.editor, text);
      await page.key("Enter", 13, CONTROL);
    },
    updated: "document.querySelector('#status').textContent.startsWith('Done')",
    refused: [],
  },
  yasgui: {
    ready: "document.querySelector('.yasqe_queryButton')",
    editor: ".tabPanel.active .CodeMirror-lines",
    rows: "document.querySelectorAll('.tabPanel.active .yasr table.dataTable tbody tr')",
    error: "document.querySelector('.tabPanel.active .errorResult')",
    async run(page, text) {
      await page.write(this.editor, text);
      await page.click(".tabPanel.active .yasqe_queryButton");
    },
    updated: "document.querySelector('.tabPanel.active .yasr_response_chip')?.textContent.trim()",
    // Its table has a style of its own for columns that are drawn wider, and gives texts to the browser as markup to find their widths: of what
    // is hostile there, the policy lets nothing run.
    refused: [/^style-src-elem refuses what stands in the page/, /^script-src-attr refuses what stands in the page/],
  },
};

const [program, chromium, directory, ...pages] = process.argv.slice(2);
const store = join(directory, "sample.ful");

function prepare() {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const sample = join(directory, "sample.ttl");
  writeFileSync(sample, SAMPLE);
  const loaded = spawnSync(program, ["rdf", "load", store, sample, "--create"], { encoding: "utf8" });
  assert.equal(loaded.status, 0, `the sample is loaded: ${loaded.stderr}`);
}

// The server and its URL, which it tells in its first line.
async function serve() {
  const server = spawn(program, ["rdf", "serve", store, "--bind", "127.0.0.1:0", "--read-write"], { stdio: ["ignore", "ignore", "pipe"] });
  const [line] = await Promise.race([
    new Promise((resolve) => createInterface(server.stderr).once("line", (line) => resolve([line]))),
    new Promise((_, reject) => server.once("exit", (code) => reject(new Error(`the server has ended with ${code}`)))),
  ]);
  const url = line.match(/ at (http:\S+) /)?.[1];
  assert.ok(url, `the server tells where it is: ${line}`);
  return { server, url };
}

async function heights(url) {
  const answer = await fetch(`${url}sparql?query=${encodeURIComponent(HEIGHTS)}`, { headers: { Accept: "text/csv" } });
  return (await answer.text()).trim().split("\r\n").length - 1;
}

async function tryPage(browser, kind, url, server) {
  const known = PAGES[kind];
  const page = await browser.open(url);
  await page.until(known.ready, "the editor is there");
  const before = await heights(server);

  await known.run(page, HEIGHTS);
  await page.until(`${known.rows}.length === ${before}`, `there are ${before} rows`);
  const first = await page.value(`${known.rows}[0].innerText`);
  assert.match(first, /ash|elm/, "the highest tree is in the first row");
  assert.match(first, /40|50/, "and its height");
  told("a query shows its rows");

  await known.run(page, BROKEN);
  await page.until(known.error, "the error is shown");
  assert.match(await page.value(`${known.error}.innerText`), /line 1, column 2[45]/, "it says where the text is wrong");
  told("a broken query shows what is wrong, and where");

  await known.run(page, planted(`elm-${kind}`), true);
  await page.until(known.updated, "the update is done");
  await known.run(page, HEIGHTS, false);
  await page.until(`${known.rows}.length === ${before + 1}`, "there is one row more");
  told("an update changes the store");

  await known.run(page, NOTES);
  await page.until(`[...${known.rows}].some((row) => row.innerText.includes('onerror'))`, "the note is shown");
  assert.equal(await page.value("document.querySelectorAll('img, td script').length"), 0, "and is no markup");
  assert.doesNotMatch(await page.value("document.title"), /taken over/);
  told("what the store holds is shown as text");

  const unknown = page.complaints.filter((complaint) => !known.refused.some((refused) => refused.test(complaint)));
  assert.deepEqual(unknown, [], "nothing of the page is refused by its policy, and no script fails");
  const elsewhere = page.requests.filter((request) => !request.startsWith(server) && !request.startsWith("data:"));
  assert.deepEqual(elsewhere, [], "nothing is asked of anybody else");
  assert.ok(page.requests.length > 5, "requests are noted at all");
  told(`${page.requests.length} requests, all of them to ${server}`);

  await refusesOthers(page);
  await runsNoLink(browser, kind, url, server);
}

// The policy holds for whatever a script might try, this one too.
async function refusesOthers(page) {
  assert.equal(await page.value("fetch('http://localhost:1/').then(() => 'sent', (error) => error.name)"), "TypeError");
  await page.value("document.body.append(Object.assign(new Image(), { src: 'https://elsewhere.example/' }))");
  const refused = () => page.complaints.filter((complaint) => /^(connect|img)-src refuses http/.test(complaint)).length;
  for (let looks = 0; refused() < 2 && looks < 100; looks++) await page.value("new Promise((resolve) => setTimeout(resolve, 50))");
  assert.equal(refused(), 2, `both are refused by the policy: ${page.complaints}`);
  told("a script that asks elsewhere is refused");
}

// A link on any site can open the page with a text in its address.
async function runsNoLink(browser, kind, url, server) {
  const before = await heights(server);
  const text = encodeURIComponent(planted(`linked-${kind}`));
  const link = `query=${text}&update=${text}&endpoint=${encodeURIComponent("http://localhost:1/")}&outputFormat=table`;
  for (const address of [`${url}#${link}`, `${url}?${link}`]) {
    const page = await browser.open(address);
    await page.until(PAGES[kind].ready, "the editor is there");
    // What the page runs by itself is asked for before what is typed.
    await PAGES[kind].run(page, HEIGHTS, false);
    await page.until(`${PAGES[kind].rows}.length > 0`, "there are rows");
    const asked = page.requests.filter((request) => new URL(request).pathname === "/sparql" || !/^(data:|http:..127\.)/.test(request));
    assert.equal(asked.length, 1, `nothing is run but what was typed: ${asked}`);
  }
  assert.equal(await heights(server), before, "and nothing changed");
  told("a link with a text runs nothing");
}

function told(what) {
  console.log(`  ${what}`);
}

prepare();
const { server, url } = await serve();
let browser;
try {
  browser = await Browser.start(chromium);
  for (const [kind, path] of pages.map((page) => page.split("="))) {
    console.log(`${kind}: ${new URL(path, url)}`);
    await tryPage(browser, kind, new URL(path, url).href, url);
  }
} finally {
  await browser?.close();
  server.removeAllListeners("exit");
  const gone = new Promise((resolve) => server.once("exit", resolve));
  server.kill("SIGINT");
  await gone;
}
