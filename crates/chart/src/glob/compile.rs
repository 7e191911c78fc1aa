//! From trees to matchers.
//!
//! Duty: join pieces as the library does: ends that all alternatives share are taken out of braces, neighbours are
//! glued, and what is left becomes a tree around the longest piece of known length.

use super::matcher::{Matcher, SEPARATOR, Tree};
use super::syntax::Node;

/// The matcher of a pattern's pieces.
pub(super) fn pattern(nodes: &[Node]) -> Matcher {
    if nodes.is_empty() {
        return Matcher::Nothing;
    }
    optimized(joined(&glued(all(nodes))))
}

fn all(nodes: &[Node]) -> Vec<Matcher> {
    nodes.iter().map(|node| optimized(compile(node))).collect()
}

fn compile(node: &Node) -> Matcher {
    let matcher = match node {
        Node::AnyOf(alternatives) => {
            return match shared_ends(alternatives) {
                Some(shorter) => pattern(&shorter),
                None => Matcher::AnyOf(all(alternatives)),
            };
        }
        Node::Pattern(nodes) => return pattern(nodes),
        Node::Nothing => Matcher::Nothing,
        Node::Any => Matcher::Any,
        Node::Super => Matcher::Super,
        Node::Single => Matcher::Single,
        Node::Text(text) => Matcher::text(text),
        Node::List { chars, not } => Matcher::List {
            chars: chars.chars().collect(),
            not: *not,
        },
        Node::Range { lo, hi, not } => Matcher::Range {
            lo: *lo,
            hi: *hi,
            not: *not,
        },
    };
    optimized(matcher)
}

/// Alternatives with what all of them begin and end with taken out; none if they share nothing.
fn shared_ends(alternatives: &[Node]) -> Option<Vec<Node>> {
    let patterns: Vec<&[Node]> = alternatives
        .iter()
        .map(|alternative| match alternative {
            Node::Pattern(nodes) => Some(nodes.as_slice()),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let (left, right) = common(&patterns);
    if left + right == 0 {
        return None;
    }
    let shortest = patterns.iter().min_by_key(|nodes| nodes.len())?;
    let mut rest: Vec<Node> = Vec::new();
    for nodes in &patterns {
        let middle = nodes.get(left..nodes.len() - right).unwrap_or_default();
        let node = match middle {
            [] => Node::Nothing,
            nodes => Node::Pattern(nodes.to_vec()),
        };
        if !rest.contains(&node) {
            rest.push(node);
        }
    }
    let mut result = Vec::new();
    if left > 0 {
        result.push(Node::Pattern(shortest[..left].to_vec()));
    }
    match rest.as_slice() {
        [Node::Nothing] => {}
        [one] => result.push(one.clone()),
        _ => result.push(Node::AnyOf(rest)),
    }
    if right > 0 {
        result.push(Node::Pattern(shortest[shortest.len() - right..].to_vec()));
    }
    Some(result)
}

/// How many pieces all patterns share at their beginning and at their end. Both ends are looked at in turn; the
/// beginning has the first right to a piece that could belong to either.
fn common(patterns: &[&[Node]]) -> (usize, usize) {
    let Some(shortest) = patterns.iter().map(|nodes| nodes.len()).min() else {
        return (0, 0);
    };
    let (mut left, mut right) = (0, 0);
    if patterns.len() < 2 {
        return (0, 0);
    }
    let same = |at: &dyn Fn(&[Node]) -> Option<Node>| {
        let mut pieces = patterns.iter().map(|nodes| at(nodes));
        let first = pieces.next();
        pieces.all(|piece| Some(piece) == first)
    };
    let (mut left_ends, mut right_ends) = (false, false);
    for i in 0..shortest {
        let j = shortest - 1 - i;
        if left + right >= shortest || (left_ends && right_ends) {
            break;
        }
        left_ends = left_ends || !same(&|nodes| nodes.get(i).cloned());
        right_ends = right_ends
            || (!left_ends && j <= i)
            || !same(&|nodes| nodes.get(nodes.len() - 1 - i).cloned());
        left += usize::from(!left_ends);
        right += usize::from(!right_ends);
    }
    (left, right)
}

/// Glues the longest run of neighbours, again and again, until none is left.
fn glued(mut matchers: Vec<Matcher>) -> Vec<Matcher> {
    loop {
        let mut best: Option<(usize, usize, Matcher)> = None;
        for start in 0..matchers.len() {
            let end = start + every_run(&matchers[start..]).max(row_run(&matchers[start..]));
            let Some(matcher) = glue(&matchers[start..end]) else {
                continue;
            };
            let better = best.as_ref().is_none_or(|(from, to, done)| {
                let longer =
                    matches!((done.len(), matcher.len()), (Some(old), Some(new)) if new > old);
                longer || to - from < end - start
            });
            if better {
                best = Some((start, end, matcher));
            }
        }
        match best {
            Some((start, end, matcher)) => {
                matchers.splice(start..end, [matcher]);
            }
            None => return matchers,
        }
    }
}

fn glue(matchers: &[Matcher]) -> Option<Matcher> {
    match matchers.len() {
        0 | 1 => None,
        count if every_run(matchers) == count => Some(every(matchers)),
        count if row_run(matchers) == count => Some(Matcher::row(matchers.to_vec())),
        _ => None,
    }
}

/// The characters that `*`, `?` and `[!…]` refuse, and `**`, which refuses none.
fn refused(matcher: &Matcher) -> Option<&[char]> {
    match matcher {
        Matcher::Super => Some(&[]),
        Matcher::Any | Matcher::Single => Some(&SEPARATOR),
        Matcher::List { chars, not: true } => Some(chars),
        _ => None,
    }
}

/// How many matchers from the first on refuse the same characters.
fn every_run(matchers: &[Matcher]) -> usize {
    let Some(first) = matchers.first().and_then(refused) else {
        return 0;
    };
    let same = |matcher: &&Matcher| refused(matcher) == Some(first);
    matchers.iter().take_while(same).count()
}

/// How many matchers from the first on have a known length.
fn row_run(matchers: &[Matcher]) -> usize {
    let known = |matcher: &&Matcher| matcher.len().is_some();
    matchers.iter().take_while(known).count()
}

/// One matcher for a run that refuses the same characters.
fn every(matchers: &[Matcher]) -> Matcher {
    let separators = matchers.first().and_then(refused).unwrap_or_default();
    let stars = |matcher: &&Matcher| matches!(matcher, Matcher::Any | Matcher::Super);
    let has_stars = matchers.iter().any(|matcher| stars(&matcher));
    let least = matchers.len() - matchers.iter().filter(stars).count();
    if least == 0 {
        return match separators {
            [] => Matcher::Super,
            _ => Matcher::Any,
        };
    }
    if has_stars && separators.is_empty() {
        return Matcher::Min(least);
    }
    let mut parts = vec![Matcher::Min(least)];
    if !has_stars {
        parts.push(Matcher::Max(least));
    }
    if !separators.is_empty() {
        // The library asks for the characters as one text, so several are refused only together.
        let needle = separators.iter().collect::<String>().into_bytes();
        parts.push(Matcher::Lacks(needle));
    }
    Matcher::EveryOf(parts)
}

/// One matcher: the last of the longest known ones, with trees of what is before and after it.
fn joined(matchers: &[Matcher]) -> Matcher {
    match matchers {
        [] => return Matcher::Nothing,
        [one] => return one.clone(),
        _ => {}
    }
    if let Some(matcher) = glue(matchers) {
        return matcher;
    }
    let known = matchers
        .iter()
        .enumerate()
        .filter_map(|(at, matcher)| Some((matcher.len()?, at)));
    let at = known.max().map_or(0, |(_, at)| at);
    let side = |side: &[Matcher]| (!side.is_empty()).then(|| joined(side));
    Tree::matcher(
        matchers[at].clone(),
        side(&matchers[..at]),
        side(&matchers[at + 1..]),
    )
}

/// A simpler matcher for the same, where the library knows one.
fn optimized(matcher: Matcher) -> Matcher {
    match matcher {
        Matcher::AnyOf(mut matchers) if matchers.len() == 1 => {
            matchers.pop().unwrap_or(Matcher::Nothing)
        }
        Matcher::List { chars, not: false } if chars.len() == 1 => {
            Matcher::text(&chars.iter().collect::<String>())
        }
        Matcher::Tree(mut tree) => {
            tree.left = tree.left.map(optimized);
            tree.right = tree.right.map(optimized);
            simple_tree(*tree)
        }
        other => other,
    }
}

/// A text with at most one star at each side needs no tree.
fn simple_tree(tree: Tree) -> Matcher {
    use Matcher::{Any, Contains, Prefix, PrefixAny, PrefixSuffix, Suffix, SuffixAny, Super, Text};
    let Text { bytes, .. } = &tree.value else {
        return Matcher::Tree(Box::new(tree));
    };
    let text = bytes.clone();
    match (&tree.left, &tree.right) {
        (None, None) => tree.value,
        (Some(Super), Some(Super)) => Contains(text),
        (Some(Super), None) => Suffix(text),
        (None, Some(Super)) => Prefix(text),
        (None, Some(Suffix(suffix))) => PrefixSuffix(text, suffix.clone()),
        (Some(Prefix(prefix)), None) => PrefixSuffix(prefix.clone(), text),
        (Some(Any), None) => SuffixAny(text),
        (None, Some(Any)) => PrefixAny(text),
        _ => Matcher::Tree(Box::new(tree)),
    }
}
