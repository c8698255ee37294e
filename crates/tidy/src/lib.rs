//! Rust source as far as the checks need it: tokens, modules, paths and functions. A parser of its own, since `syn`
//! would be compiled for these checks alone.
//!
//! It reads `use` declarations and written paths, and methods that are called through `self`. Those called on other
//! values are not seen, nor is what macros write.

use std::collections::{BTreeMap, BTreeSet};

/// A word, a number, `::` or one other character, and its line. Of literals and lifetimes only a quote is left.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// As it is written.
    pub text: String,
    /// From 1 on.
    pub line: usize,
}

/// The tokens of a text without comments and without items under `#[cfg(test)]`.
pub fn tokens(text: &str) -> Vec<Token> {
    without_tests(&all_tokens(text))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn all_tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let (mut tokens, mut at, mut line) = (Vec::new(), 0, 1);
    let starts = |at: usize, word: &str| word.chars().enumerate().all(|(n, c)| chars.get(at + n) == Some(&c));
    while at < chars.len() {
        let start = at;
        let mut word = None;
        if starts(at, "//") {
            at += chars[at..].iter().take_while(|c| **c != '\n').count();
        } else if starts(at, "/*") {
            at = end_of_block_comment(&chars, at);
        } else if let Some(end) = end_of_literal(&chars, at) {
            (at, word) = (end, Some("\"".to_owned()));
        } else if is_word(chars[at]) {
            at += chars[at..].iter().take_while(|c| is_word(**c)).count();
            word = Some(chars[start..at].iter().collect());
        } else if starts(at, "::") {
            (at, word) = (at + 2, Some("::".to_owned()));
        } else {
            at += 1;
            word = (!chars[start].is_whitespace()).then(|| chars[start].to_string());
        }
        tokens.extend(word.map(|text| Token { text, line }));
        line += chars[start..at].iter().filter(|c| **c == '\n').count();
    }
    tokens
}

fn end_of_block_comment(chars: &[char], mut at: usize) -> usize {
    let mut depth = 0;
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 1),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 1),
            _ => {}
        }
        at += 1;
        if depth == 0 {
            break;
        }
    }
    at
}

/// The end of the string, character or lifetime at `at`, if there is one.
fn end_of_literal(chars: &[char], at: usize) -> Option<usize> {
    let mut open = at;
    while matches!(chars.get(open), Some('b' | 'r' | 'c')) && open - at < 2 {
        open += 1;
    }
    let raw = chars[at..open].contains(&'r');
    let hashes = if raw { chars[open..].iter().take_while(|c| **c == '#').count() } else { 0 };
    match chars.get(open + hashes)? {
        '"' => {
            let mut end = open + hashes + 1;
            while end < chars.len() {
                let closes = || chars[end + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes;
                match chars[end] {
                    '\\' if !raw => end += 1,
                    '"' if closes() => return Some(end + 1 + hashes),
                    _ => {}
                }
                end += 1;
            }
            Some(end)
        }
        '\'' if hashes == 0 && !raw => match (chars.get(open + 1)?, chars.get(open + 2)) {
            ('\\', _) => Some(open + 4 + chars[open + 3..].iter().take_while(|c| **c != '\'').count()),
            (_, Some('\'')) => Some(open + 3),
            // A lifetime.
            _ => Some(open + 1 + chars[open + 1..].iter().take_while(|c| is_word(**c)).count()),
        },
        _ => None,
    }
}

fn is_at(tokens: &[Token], at: usize, words: &[&str]) -> bool {
    words.iter().enumerate().all(|(n, word)| tokens.get(at + n).is_some_and(|token| token.text == *word))
}

/// The place behind the bracket that closes the one at `open`.
fn behind_bracket(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// Leaves out the items under `#[cfg(test)]`. A file of tests, `#[cfg(test)] mod name;`, leaves `cfg_test name`.
fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        if !is_at(tokens, at, &["#", "[", "cfg", "(", "test", ")", "]"]) {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        at += 7;
        while is_at(tokens, at, &["#", "["]) {
            at = behind_bracket(tokens, at + 1);
        }
        let item = at;
        at = end_of_item(tokens, item);
        if tokens[item].text == "mod" && tokens[at - 1].text == ";" {
            kept.push(Token { text: "cfg_test".into(), line: tokens[item].line });
            kept.push(tokens[item + 1].clone());
        }
    }
    kept
}

/// The place behind an item: behind its semicolon or its braces; of a field or an arm, behind its comma.
fn end_of_item(tokens: &[Token], mut at: usize) -> usize {
    let is_item = |word: &str| ["pub", "fn", "mod", "use", "impl", "struct", "enum", "const", "type"].contains(&word);
    let commas = !is_item(&tokens[at].text);
    while at < tokens.len() {
        match tokens[at].text.as_str() {
            ";" => return at + 1,
            "," if commas => return at + 1,
            "}" => return at,
            "{" => return behind_bracket(tokens, at),
            "(" | "[" => at = behind_bracket(tokens, at),
            _ => at += 1,
        }
    }
    at
}

/// A name that a `use` brings into a module.
#[derive(Debug)]
struct Import {
    path: Vec<String>,
    name: String,
    glob: bool,
    /// It is passed on: `pub use`.
    passed_on: bool,
}

/// A module: its imports, and its other tokens.
#[derive(Debug, Default)]
struct Module {
    imports: Vec<Import>,
    tokens: Vec<Token>,
    /// What it defines: types, functions, constants.
    defines: BTreeSet<String>,
}

/// The modules of a crate by their paths, such as `a::b`; the root is "".
pub struct Modules(BTreeMap<String, Module>);

fn child_of(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}

fn parent_of(module: &str) -> &str {
    module.rsplit_once("::").map_or("", |(parent, _)| parent)
}

impl Modules {
    /// The modules of these files, each with the path of its module.
    pub fn new<'a>(files: impl IntoIterator<Item = (String, &'a str)>) -> Modules {
        let mut modules = Modules(BTreeMap::new());
        let mut of_tests = Vec::new();
        for (path, text) in files {
            modules.add(path, &tokens(text), &mut of_tests);
        }
        modules.0.retain(|path, _| !of_tests.iter().any(|out| path == out || path.starts_with(&format!("{out}::"))));
        modules
    }

    fn add(&mut self, path: String, tokens: &[Token], of_tests: &mut Vec<String>) {
        let mut module = Module::default();
        let mut at = 0;
        while at < tokens.len() {
            let next = tokens.get(at + 1).map_or("", |token| token.text.as_str());
            match tokens[at].text.as_str() {
                "cfg_test" => {
                    of_tests.push(child_of(&path, next));
                    at += 2;
                }
                "mod" if is_at(tokens, at + 2, &[";"]) => at += 3,
                "mod" if is_at(tokens, at + 2, &["{"]) => {
                    let end = behind_bracket(tokens, at + 2);
                    self.add(child_of(&path, next), &tokens[at + 3..end - 1], of_tests);
                    at = end;
                }
                "use" if next != "<" => {
                    let before = at.checked_sub(1).map_or("", |before| tokens[before].text.as_str());
                    let end = at + tokens[at..].iter().take_while(|token| token.text != ";").count();
                    imports(
                        &tokens[at + 1..end],
                        &mut Vec::new(),
                        before == "pub" || before == ")",
                        &mut module.imports,
                    );
                    at = end + 1;
                }
                word => {
                    if ["fn", "struct", "enum", "trait", "type", "const", "static", "union"].contains(&word) {
                        module.defines.insert(next.to_owned());
                    }
                    module.tokens.push(tokens[at].clone());
                    at += 1;
                }
            }
        }
        self.0.insert(path, module);
    }

    /// The module that declares what `path`, written in `module`, names; nothing if another crate does. `true` if it
    /// names the module itself.
    fn resolve(&self, module: &str, path: &[String], depth: usize) -> Option<(String, bool)> {
        let mut here = module.to_owned();
        for (n, word) in path.iter().enumerate() {
            match word.as_str() {
                "crate" => here = String::new(),
                "self" => {}
                "super" => here = parent_of(&here).to_owned(),
                _ if self.0.contains_key(&child_of(&here, word)) => here = child_of(&here, word),
                _ => {
                    let found = self.0.get(&here)?;
                    let named = found.imports.iter().find(|import| !import.glob && import.name == *word);
                    if let Some(import) = named.filter(|_| depth < 4) {
                        let (there, is_module) = self.resolve(&here, &import.path, depth + 1)?;
                        let rest = &path[n + 1..];
                        return if is_module && !rest.is_empty() {
                            self.resolve(&there, rest, depth + 1)
                        } else {
                            Some((there, is_module))
                        };
                    }
                    // An exported macro is at the root, whichever module declares it.
                    let is_macro = |module: &Module| {
                        (0..module.tokens.len()).any(|at| is_at(&module.tokens, at, &["macro_rules", "!", word]))
                    };
                    if here.is_empty()
                        && let Some((there, _)) = self.0.iter().find(|(_, module)| is_macro(module))
                    {
                        return Some((there.clone(), false));
                    }
                    for import in found.imports.iter().filter(|import| import.glob && depth < 4) {
                        if let Some((there, true)) = self.resolve(&here, &import.path, depth + 1)
                            && self.0[&there].defines.contains(word)
                        {
                            return Some((there, false));
                        }
                    }
                    // A path that begins with neither a module nor an import is another crate's, or local.
                    return (n > 0).then_some((here, false));
                }
            }
        }
        Some((here, true))
    }

    /// The modules that a module takes names from, each with one of these names.
    fn arrows(&self, path: &str, module: &Module) -> BTreeMap<String, String> {
        let mut arrows = BTreeMap::new();
        let mut arrow = |to: Option<(String, bool)>, glob: bool, name: &str| {
            // A name for a module is no arrow to it: what is taken from it is.
            if let Some((to, is_module)) = to
                && (!is_module || glob)
                && to != path
            {
                arrows.entry(to).or_insert_with(|| name.to_owned());
            }
        };
        for import in module.imports.iter().filter(|import| !import.passed_on) {
            arrow(self.resolve(path, &import.path, 0), import.glob, &import.name);
        }
        let mut at = 0;
        while at < module.tokens.len() {
            let (words, end) = path_at(&module.tokens, at);
            let before = at.checked_sub(1).map_or("", |before| module.tokens[before].text.as_str());
            at = end.max(at + 1);
            let Some(first) = words.first().filter(|_| before != "." && before != "fn") else { continue };
            let rooted = ["crate", "self", "super"].contains(&first.as_str()) && words.len() > 1;
            let imported = || module.imports.iter().any(|import| import.name == *first);
            let is_call = || module.tokens.get(end).is_some_and(|token| ["(", "!"].contains(&token.text.as_str()));
            let is_type = || first.starts_with(char::is_uppercase);
            let named = match words.len() {
                1 => imported() && (is_type() || is_call()),
                _ => imported() || self.0.contains_key(&child_of(path, first)),
            };
            if rooted || named {
                arrow(self.resolve(path, &words, 0), false, &words.join("::"));
            }
        }
        arrows
    }

    /// The arrows that leave a room for one behind it in `order`, or that no room of `order` has; a room is a module of
    /// the crate's root with all in it.
    pub fn arrows_back(&self, order: &[&str]) -> Vec<String> {
        let place = |path: &str| order.iter().position(|room| path.split("::").next() == Some(*room));
        let mut found = Vec::new();
        for (path, module) in self.0.iter().filter(|(path, _)| !path.is_empty()) {
            for (to, what) in self.arrows(path, module).iter().filter(|(to, _)| !to.is_empty()) {
                match (place(path), place(to)) {
                    (Some(from), Some(into)) if into <= from => {}
                    (Some(_), Some(_)) => found.push(format!("  {path} -> {to}: {what}")),
                    _ => found.push(format!("  {path} or {to} has no place in the order")),
                }
            }
        }
        found
    }

    /// The circles between modules: of each its modules and arrows, a line each.
    pub fn circles(&self) -> Vec<String> {
        let arrows: BTreeMap<&str, BTreeMap<String, String>> =
            self.0.iter().map(|(path, module)| (path.as_str(), self.arrows(path, module))).collect();
        let reached = |from: &str| {
            let (mut seen, mut left) = (BTreeSet::new(), vec![from.to_owned()]);
            while let Some(next) = left.pop() {
                left.extend(arrows[next.as_str()].keys().filter(|to| seen.insert((*to).clone())).cloned());
            }
            seen
        };
        let reach: BTreeMap<&str, BTreeSet<String>> = arrows.keys().map(|path| (*path, reached(path))).collect();
        let mut circles = BTreeSet::new();
        for (path, far) in &reach {
            let circle: Vec<&str> =
                far.iter().map(String::as_str).filter(|other| reach[other].contains(*path)).collect();
            if far.contains(*path) {
                circles.insert(circle);
            }
        }
        let name = |path: &str| if path.is_empty() { "lib".to_owned() } else { path.to_owned() };
        let show = |circle: &Vec<&str>| {
            let within = circle.iter().flat_map(|from| {
                let inside = arrows[from].iter().filter(|(to, _)| circle.contains(&to.as_str()));
                inside.map(|(to, what)| format!("  {} -> {}: {what}", name(from), name(to)))
            });
            within.collect::<Vec<_>>().join("\n")
        };
        circles.iter().map(show).collect()
    }
}

/// The imports of one `use` tree, without `use` and `;`.
fn imports(tree: &[Token], path: &mut Vec<String>, passed_on: bool, found: &mut Vec<Import>) {
    let depth = path.len();
    let (mut at, mut alias) = (0, None);
    while at < tree.len() {
        match tree[at].text.as_str() {
            "::" => {}
            "as" => {
                alias = Some(tree[at + 1].text.clone());
                at += 1;
            }
            "{" => {
                let inside = &tree[at + 1..behind_bracket(tree, at) - 1];
                let (mut start, mut place) = (0, 0);
                while place <= inside.len() {
                    let word = inside.get(place).map_or(",", |token| token.text.as_str());
                    if word == "{" {
                        place = behind_bracket(inside, place);
                        continue;
                    }
                    if word == "," && start < place {
                        imports(&inside[start..place], path, passed_on, found);
                    }
                    place += 1;
                    start = if word == "," { place } else { start };
                }
                path.truncate(depth);
                return;
            }
            word => path.push(word.to_owned()),
        }
        at += 1;
    }
    let mut full = path.clone();
    let glob = full.last().is_some_and(|last| last == "*");
    if glob || (full.len() > 1 && full.last().is_some_and(|last| last == "self")) {
        full.pop();
    }
    let name = alias.or(full.last().cloned()).unwrap_or_default();
    found.push(Import { path: full, name, glob, passed_on });
    path.truncate(depth);
}

/// The path that is written at `at`, and the place behind it.
fn path_at(tokens: &[Token], at: usize) -> (Vec<String>, usize) {
    let word = |at: usize| tokens.get(at).map(|token| &token.text).filter(|text| text.starts_with(is_word));
    let mut words: Vec<String> = word(at).into_iter().cloned().collect();
    let mut end = at + words.len();
    while !words.is_empty() && is_at(tokens, end, &["::"]) {
        let Some(next) = word(end + 1) else { break };
        words.push(next.clone());
        end += 2;
    }
    (words, end)
}

/// A function.
#[derive(Debug)]
pub struct Function {
    /// Without its path.
    pub name: String,
    /// Where its signature starts, from 1 on.
    pub line: usize,
    /// From the signature to the closing brace.
    pub lines: usize,
    /// Whether others may call it.
    pub visible: bool,
    /// Names and types.
    pub parameters: Vec<(String, String)>,
}

/// Every function of a text, tests left out.
pub fn functions(text: &str) -> Vec<Function> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    let mut end_of_trait = 0;
    for at in 0..tokens.len() {
        if tokens[at].text == "trait" && is_visible(&tokens, at) {
            let open = (at..tokens.len()).find(|at| tokens[*at].text == "{").unwrap_or(at);
            end_of_trait = behind_bracket(&tokens, open);
        }
        if tokens[at].text != "fn" || !tokens.get(at + 1).is_some_and(|name| name.text.starts_with(is_word)) {
            continue;
        }
        let Some(open) = (at..tokens.len()).find(|at| tokens[*at].text == "(") else { continue };
        let close = behind_bracket(&tokens, open);
        let ends = |at: &usize| matches!(tokens[*at].text.as_str(), "{" | ";");
        let body = (close..tokens.len()).find(ends).unwrap_or(close);
        let last = if tokens[body].text == "{" { behind_bracket(&tokens, body) - 1 } else { body };
        found.push(Function {
            name: tokens[at + 1].text.clone(),
            line: tokens[at].line,
            lines: tokens[last].line + 1 - tokens[at].line,
            visible: at < end_of_trait || is_visible(&tokens, at),
            parameters: parameters(&tokens[open + 1..close - 1]),
        });
    }
    found
}

/// Whether `pub` or `pub(…)` stands before the item whose keyword is at `at`.
fn is_visible(tokens: &[Token], at: usize) -> bool {
    let mut before = at;
    while before > 0 && ["const", "unsafe", "extern", "async", "\""].contains(&tokens[before - 1].text.as_str()) {
        before -= 1;
    }
    before > 0 && (tokens[before - 1].text == "pub" || (before > 3 && is_at(tokens, before - 4, &["pub", "("])))
}

fn parameters(tokens: &[Token]) -> Vec<(String, String)> {
    let (mut found, mut start, mut at) = (Vec::new(), 0, 0);
    while at <= tokens.len() {
        match tokens.get(at).map_or(",", |token| token.text.as_str()) {
            "(" | "[" | "{" => at = behind_bracket(tokens, at),
            "," => {
                let words: Vec<&str> = tokens[start..at].iter().map(|token| token.text.as_str()).collect();
                if let Some(colon) = words.iter().position(|word| *word == ":").filter(|colon| *colon > 0) {
                    found.push((words[colon - 1].to_owned(), words[colon + 1..].concat()));
                }
                at += 1;
                start = at;
            }
            _ => at += 1,
        }
    }
    found
}

/// A block of methods: of which type, whether of a trait, and its tokens.
struct Impl<'a> {
    of: &'a str,
    of_trait: bool,
    body: &'a [Token],
}

fn impls(tokens: &[Token]) -> Vec<Impl<'_>> {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let begins = at.checked_sub(1).is_none_or(|before| ["}", ";", "]"].contains(&tokens[before].text.as_str()));
        if tokens[at].text != "impl" || !begins {
            continue;
        }
        let Some(open) = (at..tokens.len()).find(|at| tokens[*at].text == "{") else { continue };
        let head = &tokens[behind_generics(tokens, at + 1)..open];
        let of_trait = head.iter().position(|token| token.text == "for");
        let (path, end) = path_at(head, of_trait.map_or(0, |at| at + 1));
        if let Some(of) = path.len().checked_sub(1).map(|_| &head[end - 1].text) {
            let body = &tokens[open..behind_bracket(tokens, open)];
            found.push(Impl { of, of_trait: of_trait.is_some(), body });
        }
    }
    found
}

/// The place behind `<…>` at `at`, if that is there.
fn behind_generics(tokens: &[Token], mut at: usize) -> usize {
    let mut depth = 0;
    while at < tokens.len() {
        match tokens[at].text.as_str() {
            "<" => depth += 1,
            ">" if tokens[at - 1].text != "-" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return if tokens[at].text == ">" { at + 1 } else { at };
        }
        at += 1;
    }
    at
}

/// The methods that a text defines of these types, those of traits left out.
pub fn methods(text: &str, types: &[&str]) -> Vec<String> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    for of in impls(&tokens).iter().filter(|of| !of.of_trait && types.contains(&of.of)) {
        let mut at = 1;
        while at < of.body.len() {
            match of.body[at].text.as_str() {
                "{" | "(" | "[" => at = behind_bracket(of.body, at),
                "fn" => {
                    found.push(of.body[at + 1].text.clone());
                    at += 1;
                }
                _ => at += 1,
            }
        }
    }
    found
}

/// The methods that methods of these types call on `self`, or on what another method of theirs gives
/// (`self.flash().pick()`): of which type they are, where that is known, and their names.
fn calls_on_self(text: &str, types: &[&str], known: &Methods) -> BTreeSet<(Option<String>, String)> {
    let tokens = tokens(text);
    let mut found = BTreeSet::new();
    for Impl { of, body, .. } in impls(&tokens).iter().filter(|of| types.contains(&of.of)) {
        let word = |at: usize| body.get(at).map_or("", |token| token.text.as_str());
        for at in 1..body.len() {
            if word(at + 1) != "." || !["(", "::"].contains(&word(at + 3)) {
                continue;
            }
            let called = |of: Option<String>| (of, word(at + 2).to_owned());
            let given =
                is_at(body, at - 1, &["(", ")"]) && at > 2 && known.keys().any(|(_, name)| name == word(at - 2));
            if word(at) == "self" && word(at - 1) != "." {
                found.insert(called(Some((*of).to_owned())));
            } else if given {
                found.insert(called(None));
            }
        }
    }
    found
}

/// Methods by their types and names, and the files that define them.
type Methods = BTreeMap<(String, String), BTreeSet<String>>;

/// The files (names and texts) that call, through `self`, methods of these types that another file defines: of each,
/// which files.
pub fn arrows_by_calls(files: &[(String, String)], types: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let mut known = Methods::new();
    for (name, text) in files {
        for of in types {
            methods(text, &[of]).into_iter().for_each(|method| {
                known.entry(((*of).to_owned(), method)).or_default().insert(name.clone());
            });
        }
    }
    let arrows = files.iter().map(|(name, text)| {
        let called = calls_on_self(text, types, &known);
        let may_be = |(of, method): &(String, String)| {
            called.contains(&(Some(of.clone()), method.clone())) || called.contains(&(None, method.clone()))
        };
        let to = known.iter().filter(|(method, _)| may_be(method)).flat_map(|(_, files)| files);
        (name.clone(), to.filter(|other| *other != name).cloned().collect())
    });
    arrows.collect()
}

/// The members that a text names of a value, two words deep: `ftl.blocks.room`, not the sections of a configuration.
pub fn members_of(text: &str, value: &str) -> BTreeSet<String> {
    let tokens = tokens(text);
    let word = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let mut found = BTreeSet::new();
    for at in 0..tokens.len() {
        if word(at) != value || word(at + 1) != "." || (at > 1 && is_at(&tokens, at - 2, &["config", "."])) {
            continue;
        }
        let deeper = word(at + 3) == "." && word(at + 4).starts_with(|c: char| c.is_ascii_lowercase());
        let rest = if deeper { format!(".{}", word(at + 4)) } else { String::new() };
        found.insert(format!("{value}.{}{rest}", word(at + 2)));
    }
    found
}

/// Items whose types have a tuple of three or more: functions (their signatures), fields, type aliases, constants. Each
/// by its name.
pub fn wide_tuples(text: &str) -> BTreeSet<String> {
    let tokens = tokens(text);
    let word = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let mut found = BTreeSet::new();
    for at in 0..tokens.len() {
        let ends: &[&str] = match word(at) {
            "fn" | "struct" | "enum" => &["{", ";"],
            "type" => &[";"],
            "const" | "static" if word(at + 2) == ":" && !(at > 0 && ["<", ","].contains(&word(at - 1))) => &["=", ";"],
            _ => continue,
        };
        if !word(at + 1).starts_with(is_word) {
            continue;
        }
        let mut end = at + 1;
        while end < tokens.len() && !ends.contains(&word(end)) {
            end = if ["(", "["].contains(&word(end)) { behind_bracket(&tokens, end) } else { end + 1 };
        }
        if ["struct", "enum"].contains(&word(at)) && word(end) == "{" {
            end = behind_bracket(&tokens, end);
        }
        let wide = |open: &usize| {
            is_tuple(&tokens, *open) && members(&tokens[*open + 1..behind_bracket(&tokens, *open) - 1]) > 2
        };
        if (at + 1..end.min(tokens.len())).any(|open| wide(&open)) {
            found.insert(word(at + 1).to_owned());
        }
    }
    found
}

/// Whether the bracket at `open` begins a tuple: it stands behind no name, as that of parameters does, nor behind
/// generics.
fn is_tuple(tokens: &[Token], open: usize) -> bool {
    let before = tokens[open - 1].text.as_str();
    let named = before.starts_with(is_word) && !["mut", "dyn", "const", "impl", "as", "where"].contains(&before);
    let generics = before == ">" && tokens[open - 2].text != "-";
    tokens[open].text == "(" && !named && !generics && before != "!"
}

/// Members of a list that commas separate.
fn members(tokens: &[Token]) -> usize {
    let (mut count, mut at, mut depth, mut is_open) = (0, 0, 0i32, false);
    while at < tokens.len() {
        let next = match tokens[at].text.as_str() {
            "(" | "[" | "{" => behind_bracket(tokens, at),
            _ => at + 1,
        };
        match tokens[at].text.as_str() {
            "<" => depth += 1,
            ">" if tokens[at - 1].text != "-" => depth -= 1,
            "," if depth == 0 => (count, is_open) = (count + usize::from(is_open), false),
            _ => {}
        }
        is_open |= tokens[at].text != ",";
        at = next;
    }
    count + usize::from(is_open)
}

/// The most columns of a line that is read.
pub const COLUMNS: usize = 120;

/// Lines of comments in Rust, or of a page in Markdown, that are too long, from 1 on. Tables, code and pictures are as
/// wide as they need to be.
pub fn long_lines(text: &str, is_rust: bool) -> Vec<usize> {
    let mut in_code = false;
    let mut long = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let words = line.trim_start();
        let said = match words.strip_prefix("//") {
            Some(comment) if is_rust => comment.trim_start_matches(['/', '!']).trim_start(),
            None if is_rust => {
                in_code = false;
                continue;
            }
            _ => words,
        };
        if said.starts_with("```") {
            in_code = !in_code;
        } else if !in_code && !said.starts_with(['|', '!']) && line.chars().count() > COLUMNS {
            long.push(number + 1);
        }
    }
    long
}
