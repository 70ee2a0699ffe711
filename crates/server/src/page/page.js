"use strict";
// The editor's script: sends the text, and shows the answer. What comes from the store is only ever set as text, never as markup.

const ROWS_SHOWN = 10000;
const NUMBERS = /XMLSchema#(integer|decimal|double|float|int|long|short|byte|unsigned\w+|\w+Integer)$/;
const find = (id) => document.getElementById(id);
let running = null;

function element(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function shown(term) {
  if (!term) return "";
  switch (term.type) {
    case "uri": return `<${term.value}>`;
    case "bnode": return `_:${term.value}`;
    case "triple": {
      const { subject, predicate, object } = term.value;
      return `<<( ${shown(subject)} ${shown(predicate)} ${shown(object)} )>>`;
    }
    default: {
      if (term["xml:lang"]) return `"${term.value}"@${term["xml:lang"]}`;
      if (!term.datatype || NUMBERS.test(term.datatype)) return term.value;
      return `"${term.value}"^^<${term.datatype}>`;
    }
  }
}

function table(answer) {
  const made = element("table");
  made.append(element("caption", "Solutions"));
  const names = element("tr");
  for (const name of answer.head.vars) {
    const head = element("th", `?${name}`);
    head.scope = "col";
    names.append(head);
  }
  const head = element("thead");
  head.append(names);
  const body = element("tbody");
  for (const row of answer.results.bindings.slice(0, ROWS_SHOWN)) {
    const line = element("tr");
    for (const name of answer.head.vars) {
      const term = row[name];
      line.append(element("td", shown(term), term && NUMBERS.test(term.datatype || "") ? "number" : ""));
    }
    body.append(line);
  }
  made.append(head, body);
  return made;
}

async function show(response, milliseconds) {
  const status = find("status");
  const kind = response.headers.get("content-type") || "";
  if (response.status === 204) {
    status.textContent = `Done in ${milliseconds()} ms.`;
  } else if (kind.startsWith("application/sparql-results+json")) {
    const answer = await response.json();
    if (typeof answer.boolean === "boolean") {
      status.textContent = `In ${milliseconds()} ms:`;
      find("answer").replaceChildren(element("pre", String(answer.boolean)));
      return;
    }
    const rows = answer.results.bindings.length;
    const cut = rows > ROWS_SHOWN ? `, of which the first ${ROWS_SHOWN} are shown` : "";
    status.textContent = `${rows} ${rows === 1 ? "solution" : "solutions"} in ${milliseconds()} ms${cut}.`;
    find("answer").replaceChildren(table(answer));
  } else {
    find("answer").replaceChildren(element("pre", await response.text()));
    status.textContent = `In ${milliseconds()} ms:`;
  }
}

function fail(text) {
  const error = find("error");
  error.textContent = text;
  error.hidden = false;
  find("status").textContent = "";
}

async function run() {
  if (running) return;
  running = new AbortController();
  find("run").disabled = true;
  find("stop").disabled = false;
  find("error").hidden = true;
  find("answer").replaceChildren();
  find("status").textContent = "Running …";
  const begun = performance.now();
  const milliseconds = () => Math.round(performance.now() - begun);
  try {
    const response = await fetch("sparql", {
      method: "POST",
      headers: {
        "Content-Type": `application/sparql-${find("kind").value}`,
        "Accept": "application/sparql-results+json, text/turtle;q=0.9, */*;q=0.1",
      },
      body: find("text").value,
      signal: running.signal,
    });
    if (response.ok) await show(response, milliseconds);
    else fail(await response.text());
  } catch (error) {
    fail(error.name === "AbortError" ? "Stopped." : `The answer was cut off: ${error.message}`);
  } finally {
    running = null;
    find("run").disabled = false;
    find("stop").disabled = true;
  }
}

find("form").addEventListener("submit", (event) => {
  event.preventDefault();
  run();
});
find("stop").addEventListener("click", () => running && running.abort());
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    run();
  } else if (event.key === "Escape" && running) {
    running.abort();
  }
});
