# SPDX-License-Identifier: MIT
"""A small engine for TextMate grammars whose regular expressions are such that Python reads them: `match`, `begin` and `end`,
`name`, `contentName`, captures as a whole, and `include` of the repository. It works line by line, as editors do; what an
editor's engine can do beyond that (`while`, back references, other grammars) is refused."""
import re

KNOWN = {"match", "begin", "end", "name", "contentName", "patterns", "include", "comment", "captures", "beginCaptures", "endCaptures"}


class Rule:
    def __init__(self, entry):
        unknown = set(entry) - KNOWN
        if unknown:
            raise ValueError(f"the engine of the tests doesn't know {sorted(unknown)}")
        self.name, self.content = entry.get("name"), entry.get("contentName")
        self.start = re.compile(entry["match"] if "match" in entry else entry["begin"])
        self.end = re.compile(entry["end"]) if "end" in entry else None
        self.start_name = whole(entry.get("beginCaptures") or entry.get("captures"))
        self.end_name = whole(entry.get("endCaptures") or entry.get("captures"))
        self.patterns, self.children = entry.get("patterns", []), None


def whole(captures):
    if captures and set(captures) != {"0"}:
        raise ValueError("the engine of the tests knows captures of the whole match alone")
    return captures["0"]["name"] if captures else None


class Grammar:
    def __init__(self, json):
        self.repository, self.rules, self.top = json["repository"], {}, json["patterns"]
        self.top_rules = self.flat(self.top)
        seen = set()
        self.check(self.top_rules, seen)
        self.used = seen

    def check(self, rules, seen):
        """Reads everything that can be reached."""
        for rule in rules:
            if id(rule) not in seen:
                seen.add(id(rule))
                self.check(self.children(rule), seen)

    def flat(self, patterns, open_names=()):
        out = []
        for entry in patterns:
            if "include" in entry:
                name = entry["include"]
                if not name.startswith("#") or name in open_names:
                    raise ValueError(f"include of {name}")
                target = self.repository[name[1:]]
                nested = target["patterns"] if not {"match", "begin"} & set(target) else [target]
                out += self.flat(nested, (*open_names, name))
            else:
                if id(entry) not in self.rules:
                    self.rules[id(entry)] = Rule(entry)
                out.append(self.rules[id(entry)])
        return out

    def children(self, rule):
        if rule.children is None:
            rule.children = self.flat(rule.patterns)
        return rule.children

    def scopes(self, text):
        """For each character the names that hold there, outermost first."""
        out, stack = [], []
        for line in text.splitlines(keepends=True):
            out += self.line(line, stack)
        return out

    def line(self, line, stack):
        names, at, cache = [()] * len(line), 0, {}

        def paint(start, end, scopes):
            for i in range(start, end):
                names[i] = scopes

        def next_match(regex):
            found = cache.get(regex, 0)
            if found == 0 or (found and found.start() < at):
                found = cache[regex] = regex.search(line, at)
            return found

        while at < len(line):
            inside = stack[-1] if stack else None
            best, rule = (next_match(inside[0].end), None) if inside else (None, None)
            for child in self.children(inside[0]) if inside else self.top_rules:
                m = next_match(child.start)
                if m and (best is None or m.start() < best.start()):
                    best, rule = m, child
            outer = inside[2] if inside else ()
            if best is None:
                paint(at, len(line), outer)
                break
            paint(at, best.start(), outer)
            if rule is None:
                paint(best.start(), best.end(), inside[1] + named(inside[0].end_name))
                stack.pop()
            elif rule.end is None:
                if best.end() == best.start():
                    raise ValueError(f"{rule.start.pattern} matches nothing")
                paint(best.start(), best.end(), outer + named(rule.name))
            else:
                whole_region = outer + named(rule.name)
                paint(best.start(), best.end(), whole_region + named(rule.start_name))
                stack.append((rule, whole_region, whole_region + named(rule.content)))
            at = best.end()
        return names


def named(name):
    return (name,) if name else ()
