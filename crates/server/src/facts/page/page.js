"use strict";
// The editor's script: sends the query, and shows results. What comes from a database is only ever set as text, never as markup.

const RESULTS_PER_PAGE = 100;
const find = (id) => document.getElementById(id);
let running = null;
let rest = null;
let shown = 0;

function element(name, text) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  return made;
}

function fail(text) {
  const error = find("error");
  error.textContent = text;
  error.hidden = false;
  find("status").textContent = "";
}

async function read(path) {
  const response = await fetch(path);
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

const ofDatabase = (path, repo = find("repo").value) => `${path}?repo=${encodeURIComponent(repo)}`;

// Integers of 16 digits and more may have no exact value here. Each becomes { "": DIGITS }, which no value of Angle is:
// its fields have names.
function parse(text) {
  let inString = false;
  return JSON.parse(text.replace(/\\.|"|\d{16,}/g, (found) => {
    if (found === '"') inString = !inString;
    return inString || found.length < 16 ? found : `{"":"${found}"}`;
  }));
}
// In a string, quotes are escaped: this only matches what `parse` has made.
const written = (value) => JSON.stringify(value, null, 1).replace(/\{\s*"": "(\d+)"\s*\}/g, "$1");

async function listPredicates() {
  const [schema, stats] = await Promise.all([read(ofDatabase("getSchemaInfo")), read(ofDatabase("predicateStats"))]);
  const made = Object.entries(schema.predicateIds).map(([id, { name, version }]) => {
    const count = stats[id] ? stats[id].count : 0;
    const option = element("option", `${name}.${version} (${count.toLocaleString("en")})`);
    option.value = `${name}.${version} _`;
    return option;
  });
  find("predicate").replaceChildren(...made);
  if (!find("text").value && made.length > 0) find("text").value = made[0].value;
}

async function listDatabases() {
  const { databases } = await read("listDatabases");
  find("repo").replaceChildren(...databases.map(({ repo }) => element("option", repo.name)));
  await listPredicates();
}

async function run(continuation) {
  if (running) return;
  // Later pages are of the same query, database and options, whatever is in the fields now.
  const { query, repo, options } = continuation ? rest : {
    query: find("text").value,
    repo: find("repo").value,
    options: { max_results: RESULTS_PER_PAGE, recursive: find("recursive").checked },
  };
  running = new AbortController();
  find("run").disabled = find("more").disabled = true;
  find("stop").disabled = false;
  find("error").hidden = true;
  if (!continuation) {
    find("answer").replaceChildren();
    shown = 0;
  }
  rest = null;
  find("status").textContent = "Running …";
  const begun = performance.now();
  try {
    const response = await fetch(ofDatabase("userQuery", repo), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ query, options: continuation ? { ...options, continuation } : options }),
      signal: running.signal,
    });
    if (!response.ok) return fail(await response.text());
    const answer = parse(await response.text());
    const time = Math.round(performance.now() - begun);
    shown += answer.facts.length;
    find("answer").append(...answer.facts.map((fact) => element("pre", written(fact))));
    if (answer.continuation) rest = { query, repo, options, continuation: answer.continuation };
    const more = rest ? "; there may be more" : "";
    const cut = answer.diagnostics.length > 0 ? ` (${answer.diagnostics.join("; ")})` : "";
    find("status").textContent = `${shown} ${shown === 1 ? "result" : "results"}, type ${answer.type}, in ${time} ms${more}${cut}.`;
  } catch (error) {
    fail(error.name === "AbortError" ? "Stopped." : `The answer was cut off: ${error.message}`);
  } finally {
    running = null;
    find("run").disabled = false;
    find("more").disabled = !rest;
    find("stop").disabled = true;
  }
}

find("form").addEventListener("submit", (event) => {
  event.preventDefault();
  run(null);
});
find("more").addEventListener("click", () => rest && run(rest.continuation));
find("stop").addEventListener("click", () => running && running.abort());
find("repo").addEventListener("change", () => listPredicates().catch((error) => fail(error.message)));
find("predicate").addEventListener("change", () => { find("text").value = find("predicate").value; });
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    run(null);
  } else if (event.key === "Escape" && running) {
    running.abort();
  }
});
listDatabases().catch((error) => fail(error.message));
