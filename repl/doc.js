// SPDX-License-Identifier: MIT
// The search box of the index of `atled doc`. `entries` are [name, kind, type, module, link, summary].
// `/` focuses the box; arrows move between it and the results; Enter opens the first one, or the one that is chosen.
// Behind `#q=` the page's address has the query that a result was opened from, so that going back finds it again.
const limit = 50;

// How well an entry fits the words, smaller is better; -1: it doesn't.
function rank(entry, words) {
  const name = entry[0].toLowerCase();
  const full = (entry[3] + "." + entry[0]).toLowerCase();
  const rest = (full + " " + entry[1] + " " + entry[2] + " " + entry[5]).toLowerCase();
  let sum = 0;
  for (const word of words) {
    if (!rest.includes(word)) return -1;
    sum += name === word || full === word ? 0 : name.startsWith(word) ? 1 : name.includes(word) ? 2 : 3;
  }
  return sum;
}

// The same for a type: that of the entry, its end, or a part of it.
function rankByType(entry, wanted) {
  const type = entry[2].toLowerCase();
  return type === wanted ? 0 : type.endsWith("=> " + wanted) ? 1 : type.includes(wanted) ? 2 : -1;
}

function find(query) {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word);
  const type = words.join(" ").replace(/\s*->\s*/g, " -> ");
  const fits = query.includes("->") ? (entry) => rankByType(entry, type) : (entry) => rank(entry, words);
  const ranked = words.length ? entries.map((entry) => [fits(entry), entry]) : [];
  return ranked.filter((pair) => pair[0] >= 0).sort((a, b) => a[0] - b[0]).map((pair) => pair[1]);
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

// Words, and code in backquotes.
function textWithCode(text) {
  const parts = text.split("`");
  return parts.map((part, i) => i % 2 && i + 1 < parts.length ? element("code", part) : (i % 2 ? "`" : "") + part);
}

function row(entry) {
  const [name, kind, type, module, link, summary] = entry;
  const a = document.createElement("a");
  a.href = link;
  const head = element("code", "");
  head.append(element("b", name), type ? " : " + type : "");
  a.append(head, " ", element("small", kind + " in " + module));
  if (summary) {
    const below = element("div", "");
    below.append(...textWithCode(summary));
    a.append(below);
  }
  const li = document.createElement("li");
  li.append(a);
  return li;
}

function start() {
  const box = document.getElementById("query");
  const results = document.getElementById("results");
  const everything = document.getElementById("everything");
  const links = () => [box, ...results.querySelectorAll("a")];

  function show() {
    const found = find(box.value);
    const searched = box.value.trim() !== "";
    results.replaceChildren(...found.slice(0, limit).map(row));
    if (searched && !found.length) results.append(element("li", "Nothing was found."));
    if (found.length > limit) results.append(element("li", found.length - limit + " more"));
    results.hidden = !searched;
    everything.hidden = searched;
  }

  function move(event, by) {
    const all = links();
    const at = all.indexOf(document.activeElement);
    if (at < 0) return;
    event.preventDefault();
    all[Math.min(Math.max(at + by, 0), all.length - 1)].focus();
  }

  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const typing = document.activeElement === box;
    if (event.key === "/" && !typing) {
      event.preventDefault();
      box.focus();
      box.select();
    } else if (event.key === "ArrowDown") move(event, 1);
    else if (event.key === "ArrowUp") move(event, -1);
    else if (event.key === "Enter" && typing && links()[1]) links()[1].click();
    else if (event.key === "Escape") {
      box.value = "";
      show();
      box.focus();
    }
  }

  function remember() {
    location.replace("#q=" + encodeURIComponent(box.value));
  }

  function recall() {
    if (!location.hash.startsWith("#q=")) return;
    box.value = decodeURIComponent(location.hash.slice(3));
    show();
  }

  document.getElementById("search").hidden = false;
  box.addEventListener("input", show);
  document.addEventListener("keydown", key);
  results.addEventListener("click", remember);
  window.addEventListener("hashchange", recall);
  show();
  recall();
}

if (typeof document !== "undefined") start();
