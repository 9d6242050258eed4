// SPDX-License-Identifier: MIT
// The search box of the index of `atled doc`. `entries` are [name, kind, type, module, link, summary].
// `/` focuses the box; arrows move between it and the results; Enter opens the first one, or the one that is chosen.
const limit = 50;

// How well an entry fits the words, smaller is better; -1: it doesn't.
function rank(entry, words) {
  const name = entry[0].toLowerCase();
  const full = (entry[3] + "." + entry[0]).toLowerCase();
  const rest = (full + " " + entry[1] + " " + entry[2] + " " + entry[5]).toLowerCase();
  let worst = 0;
  for (const word of words) {
    if (!rest.includes(word)) return -1;
    const one = name === word || full === word ? 0 : name.startsWith(word) ? 1 : name.includes(word) ? 2 : 3;
    worst = Math.max(worst, one);
  }
  return worst;
}

function find(query) {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word);
  const ranked = words.length ? entries.map((entry) => [rank(entry, words), entry]) : [];
  return ranked.filter((pair) => pair[0] >= 0).sort((a, b) => a[0] - b[0]).map((pair) => pair[1]);
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function row(entry) {
  const [name, kind, type, module, link, summary] = entry;
  const a = document.createElement("a");
  a.href = link;
  a.append(element("code", name + (type ? " : " + type : "")), " ", element("small", kind + " in " + module));
  if (summary) a.append(element("div", summary));
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

  document.getElementById("search").hidden = false;
  box.addEventListener("input", show);
  document.addEventListener("keydown", key);
  show();
}

if (typeof document !== "undefined") start();
