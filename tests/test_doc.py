#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`atled doc`: its text, its pages, the search index, and what it does with files and folders that don't do.

usage: test_doc.py EXE ROOT [--update]

tests/doc/model.txt is the text of the files there; --update writes it. Pages are read by Python's parser: elements are
balanced, ids unique, links lead to pages and ids that are there, and nothing is loaded from elsewhere."""
import html.parser
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

EXE, ROOT = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
HERE = ROOT / "tests" / "doc"
SOURCES = ["model.atl", "other.atl"]
VOID = {"meta", "input", "br", "link", "img"}
problems = []


def check(good, text):
    if not good:
        problems.append(text)


def doc(*words, cwd=HERE, **more):
    return subprocess.run([EXE, "doc", *map(str, words)], capture_output=True, cwd=cwd, timeout=120, check=False, **more)


class Page(html.parser.HTMLParser):
    """Ids, links, text and scripts of a page; `wrong` has what isn't balanced or leads elsewhere."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.open, self.wrong, self.text, self.script = [], [], [], [], "", ""
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        self.wrong += [f"<{tag}> is never closed" for tag in self.open]

    def handle_starttag(self, tag, attrs):
        names = dict(attrs)
        check(len(names) == len(attrs), f"<{tag}> has an attribute twice")
        if tag not in VOID:
            self.open.append(tag)
        if "id" in names:
            self.ids.append(names["id"])
        if "href" in names:
            self.links.append(names["href"])
        self.wrong += [f"{name} of <{tag}>" for name in names if name in ("src", "action", "data") or name.startswith("on")]

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> closes nothing")

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.script += data
        else:
            self.text += data


def target_of(page, link):
    """The page and the id that a link leads to."""
    file, _, fragment = link.partition("#")
    return urllib.parse.unquote(file) or page, urllib.parse.unquote(fragment)


def check_pages(folder):
    pages = {path.name: Page(path) for path in sorted(folder.glob("*.html"))}
    for name, page in pages.items():
        check(not page.wrong, f"{name}: {page.wrong}")
        check(len(set(page.ids)) == len(page.ids), f"{name}: ids aren't unique")
        text = (folder / name).read_text(encoding="utf-8")
        check(not re.search(r"(href|src)=\"[a-z]+:|url\(|@import", text), f"{name}: a link to elsewhere")
        for link in page.links:
            file, fragment = target_of(name, link)
            known = file in pages and (not fragment or fragment in pages[file].ids)
            check(known, f"{name}: the link {link} leads nowhere")
    return pages


def entries_of(pages):
    return json.loads(re.search(r"const entries = (\[.*?\n?\]);\n", pages["index.html"].script, re.S).group(1))


def check_index(pages):
    entries = entries_of(pages)
    by_name = {entry[0]: entry for entry in entries}
    for entry in entries:
        file, fragment = target_of("index.html", entry[4])
        check(file in pages and fragment in pages[file].ids, f"the index: {entry[4]} leads nowhere")
    return by_name


def index_links(folder):
    """Links in the list of modules, which comes before that of names."""
    modules = (folder / "index.html").read_text(encoding="utf-8").partition('<h2 id="names">')[0]
    return re.findall(r'href="(.*?)"', modules)


def found_by_script(folder, query):
    """The names that the script of the index finds; None where there is no interpreter."""
    node = shutil.which("node")
    if not node:
        return None
    script = Page(folder / "index.html").script + f"\nconsole.log(JSON.stringify(find({json.dumps(query)})));\n"
    r = subprocess.run([node, "-"], input=script, capture_output=True, text=True, timeout=60, check=False)
    check(r.returncode == 0, f"the script of the index: {r.stderr}")
    return [entry[0] for entry in json.loads(r.stdout or "[]")]


# ---- The tests ------------------------------------------------------------------------------
def test_text():
    made = doc(*SOURCES)
    stored = HERE / "model.txt"
    if "--update" in sys.argv:
        stored.write_bytes(made.stdout)
    check(made.returncode == 0 and not made.stderr, f"doc: {made.stderr.decode()}")
    check(made.stdout == stored.read_bytes(), "the text isn't tests/doc/model.txt: run this test with --update")
    check(doc("--text", *SOURCES).stdout == made.stdout, "--text is another text")


def test_files(folder):
    r = doc("-o", folder / "out", *SOURCES)
    check(r.returncode == 0 and not r.stdout and not r.stderr, f"doc -o: {r.stderr.decode()}")
    pages = check_pages(folder / "out")
    check(set(pages) == {"index.html", "model.html", "other.html"}, f"pages: {sorted(pages)}")
    model = pages["model.html"]
    check("<script>alert(\"x\")</script> & more" in model.text and not model.script, "text isn't escaped")
    check("_private" not in model.text and "never printed" not in model.text, "what is private is shown")
    check("other.html#type.t" in model.links and "#type.shape.Circle" in model.links, "types aren't linked")
    check("other.html#value.twice" in model.links, "an example isn't linked")
    index = check_index(pages)
    check(index["area"][1:] == ["value", "shape -> float", "model.atl", "model.html#value.area", "The area of a shape: "],
          f"the index: {index['area']}")
    check(index["beta"][1:3] == ["field", "float"] and "x'" in index and "_private" not in index, "the index lacks names")
    found = found_by_script(folder / "out", "circle")
    check(found is None or found[0] == "Circle", f"a search finds {found}")
    found = found_by_script(folder / "out", "float shape")
    check(found is None or {"Circle", "area"} <= set(found), f"a search finds {found}")
    found = found_by_script(folder / "out", "shape->float")
    check(found is None or found[0] == "area", f"a search by a type finds {found}")
    check("model.html#value.loss" in index_links(folder / "out"), "a name in the first sentence of a module isn't linked")


def test_library(folder):
    r = doc("--library", "-o", folder / "library")
    check(r.returncode == 0, f"--library: {r.stderr.decode()}")
    pages = check_pages(folder / "library")
    modules = {path.stem + ".html" for path in (ROOT / "stdlib").glob("*.atl")}
    check(set(pages) == modules | {"index.html"}, f"--library: {set(pages) ^ modules}")
    check(check_index(pages)["solve"][4] == "Linalg.html#value.solve", "the index of the library")


def test_names(folder):
    """Pages of files of one name, of the index's, and of names that no URL has."""
    names = ["a/index.atl", "b/INDEX.atl", "c/x \"<&#%é.atl", "d/x.atl", "e/x.atl", "f/\udcff.atl"]
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# The text </script><!-- of \\ and \"quotes\": `</code>`.\nlet value = 1\n")
    (folder / "names").mkdir()
    (folder / "names" / "foreign").write_text("stays")
    (folder / "names" / "x.html").write_text("goes")
    r = doc("-o", "names", *names, cwd=folder)
    check(r.returncode == 0, f"names: {r.stderr.decode()}")
    pages = check_pages(folder / "names")
    check(len(pages) == len(names) + 1, f"names: {sorted(pages)}")
    check_index(pages)
    check("</script><!-- of \\ and \"quotes\"" in entries_of(pages)[0][5], "a comment in the index")
    check((folder / "names" / "foreign").read_text() == "stays", "a foreign file is gone")
    check(set(os.listdir(folder / "names")) == set(pages) | {"foreign"}, "other files are left")


def test_hidden(folder):
    """Of names that are defined twice the later ones are shown, each once."""
    (folder / "again.atl").write_text('import "again2.atl" as M\nimport "again3.atl" as M\ntype t = A | B\ntype t = B | C\n'
                                      "let f x = M.value + 1\nlet f x y = x + y + 1\nlet (f, g) = (1, true)\n")
    for name in ("again2.atl", "again3.atl"):
        (folder / name).write_text("let value = 1\n")
    r = doc("-o", "again", "again.atl", "again2.atl", "again3.atl", cwd=folder)
    check(r.returncode == 0, f"hidden: {r.stderr.decode()}")
    ids = check_pages(folder / "again")["again.html"].ids
    check(ids == ["import.M", "type.t", "type.t.B", "type.t.C", "value.f", "value.g"], f"hidden: {ids}")


def test_failures(folder):
    bad, wrong = folder / "bytes.atl", folder / "wrong.atl"
    bad.write_bytes(b"# \xff\nlet x = 1\n")
    wrong.write_text("let x = 1 + \"a\"\n")
    for path in (bad, wrong):
        r = doc("-o", folder / "none", HERE / "model.atl", path)
        said = subprocess.run([EXE, "check", path], capture_output=True, check=False).stderr
        check(r.returncode == 65 and r.stderr == said, f"{path}: {r.returncode}, {r.stderr.decode()}")
        check(not (folder / "none").exists(), f"{path}: something was written")
        r = doc(path)
        check(r.returncode == 65 and not r.stdout, f"{path}: something was printed")
    check(doc(folder / "nowhere.atl").returncode == 66, "a file that isn't there")
    for target in (wrong, folder / "no" / "where", "/proc/self"):
        r = doc("-o", target, HERE / "model.atl")
        check(r.returncode == 74 and str(target).encode() in r.stderr, f"-o {target}: {r.returncode}, {r.stderr.decode()}")
    (folder / "full").mkdir()
    (folder / "full" / "other.html").write_text("old")
    r = doc("-o", folder / "full", HERE / "other.atl",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
    check(r.returncode == 74 and b"other.html" in r.stderr, f"no room: {r.returncode}, {r.stderr.decode()}")
    check((folder / "full" / "other.html").read_text() == "old", "the old page is gone")
    check(os.listdir(folder / "full") == ["other.html"], "a part of a page is left")
    for words in ([], ["--library", "x.atl"], ["--text", "-o", folder, HERE / "model.atl"]):
        check(doc(*words).returncode == 2, f"doc {words} isn't refused")


def main():
    test_text()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        test_files(folder)
        test_library(folder)
        test_names(folder)
        test_hidden(folder)
        test_failures(folder)
    print("\n".join(problems))
    sys.exit(f"{len(problems)} problems" if problems else 0)


main()
