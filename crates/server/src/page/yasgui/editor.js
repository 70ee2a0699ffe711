"use strict";
// Sets YASGUI up for this server alone: no other endpoint, nothing asked of the Web, no answer kept in the browser, and no text run because a
// link has it in its address.

const SHARED = "query";

// The prefixes of the store's namespaces, which queries need not declare.
async function namespaces() {
  try {
    const response = await fetch("namespaces");
    const lines = response.ok ? (await response.text()).split("\n") : [];
    const declared = lines.map((line) => line.match(/^PREFIX (\S*): <(.*)>$/)).filter((found) => found);
    return Object.fromEntries(declared.map(([, prefix, iri]) => [prefix, iri]));
  } catch {
    return {};
  }
}

function begin(prefixes) {
  const endpoint = new URL("sparql", document.baseURI).href;
  const { Yasqe, Yasr } = Yasgui;
  Yasr.defaults.maxPersistentResponseSize = 0;
  Yasqe.forkAutocompleter("prefixes", {
    name: "namespaces",
    persistenceId: null,
    get: Object.entries(prefixes).map(([prefix, iri]) => `${prefix}: <${iri}>`).sort(),
  }, false);
  // Those for classes and properties ask a site.
  Yasqe.defaults.autocompleters = ["variables", "namespaces"];
  const yasgui = new Yasgui(document.getElementById("editor"), {
    // A text of the address would be run at once, updates too.
    populateFromUrl: false,
    copyEndpointOnNewTab: false,
    endpointCatalogueOptions: { getData: () => [{ endpoint }], keys: [], renderItem() {} },
    requestConfig: { endpoint: () => endpoint, method: "POST" },
    yasqe: { value: "SELECT ?s ?p ?o\nWHERE { ?s ?p ?o }\nLIMIT 100", prefixCcApi: null },
    yasr: { prefixes },
  });
  // It is shown, for the reader to judge and run.
  const shared = new URLSearchParams(location.hash.slice(1)).get(SHARED);
  if (shared) {
    history.replaceState(null, "", location.pathname);
    yasgui.addTab(true, { yasqe: { value: shared } });
  }
}

namespaces().then(begin);
