//! Which styles a scalar may be written in.

/// What of a text decides over its style.
#[derive(Debug, Clone, Copy)]
pub(super) struct Analysis {
    pub(super) multiline: bool,
    pub(super) plain: bool,
    pub(super) single_quoted: bool,
    pub(super) block: bool,
}

/// Line breaks: LF, CR, NEL, LS and PS.
pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// What stands unescaped. Characters beyond the basic plane do not, nor does a tab.
pub(super) fn is_printable(c: char) -> bool {
    match c {
        '\n' | ' '..='~' => true,
        '\u{feff}' | '\u{fffe}' | '\u{ffff}' => false,
        '\u{a0}'..='\u{ffff}' => true,
        _ => false,
    }
}

fn is_blank_or_end(c: Option<char>) -> bool {
    c.is_none_or(|c| c == ' ' || c == '\t' || is_break(c))
}

/// Looks at a text as a value in block context.
pub(super) fn analyze(text: &str) -> Analysis {
    if text.is_empty() {
        return Analysis {
            multiline: false,
            plain: true,
            single_quoted: true,
            block: false,
        };
    }
    let mut indicators = text.starts_with("---") || text.starts_with("...");
    let (mut breaks, mut special) = (false, false);
    let (mut space_first, mut break_first, mut space_last, mut break_last) =
        (false, false, false, false);
    let (mut break_space, mut space_break) = (false, false);
    let (mut after_space, mut after_break) = (false, false);
    let mut after_blank = true;
    let mut chars = text.chars().peekable();
    let mut first = true;
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        let before_blank = is_blank_or_end(next);
        indicators |= match c {
            '#' => first || after_blank,
            ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@'
            | '`' => first,
            '?' | '-' => first && before_blank,
            ':' => before_blank,
            _ => false,
        };
        special |= !is_printable(c);
        if c == ' ' {
            space_first |= first;
            space_last |= next.is_none();
            break_space |= after_break;
            (after_space, after_break) = (true, false);
        } else if is_break(c) {
            breaks = true;
            break_first |= first;
            break_last |= next.is_none();
            space_break |= after_space;
            (after_space, after_break) = (false, true);
        } else {
            (after_space, after_break) = (false, false);
        }
        after_blank = is_blank_or_end(Some(c));
        first = false;
    }
    let edges = space_first || break_first || space_last || break_last;
    let hard = space_break || special;
    Analysis {
        multiline: breaks,
        plain: !(edges || break_space || hard || breaks || indicators),
        single_quoted: !(break_space || hard),
        block: !(space_last || hard),
    }
}
