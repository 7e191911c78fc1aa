//! Tokens to events.
//!
//! The grammar is kept as a stack of what is to follow, so that nesting costs no stack of calls.

use std::borrow::Cow;
use std::collections::HashMap;

use super::input::Input;
use super::scan::{Kind, Scanner, SyntaxError};

type Result<T, E = SyntaxError> = std::result::Result<T, E>;

/// One event. Tags of collections are read and checked, but mean nothing to Helm.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event<'a> {
    StreamStart,
    StreamEnd,
    DocumentStart,
    DocumentEnd,
    Alias(&'a str),
    Scalar {
        anchor: Option<&'a str>,
        /// With its handle resolved; `!` stands for itself.
        tag: Option<Cow<'a, str>>,
        text: Cow<'a, str>,
        plain: bool,
    },
    SequenceStart {
        anchor: Option<&'a str>,
    },
    SequenceEnd,
    MappingStart {
        anchor: Option<&'a str>,
    },
    MappingEnd,
}

/// What is to follow.
#[derive(Debug, Clone, Copy)]
enum State {
    StreamStart,
    /// A document, with `---` unless it is the first.
    DocumentStart {
        first: bool,
    },
    /// The root behind `---`.
    DocumentContent,
    DocumentEnd,
    /// The root of a document without `---`.
    Root,
    BlockSequenceEntry {
        first: bool,
    },
    /// An entry of a sequence that is not indented below its key.
    IndentlessEntry,
    BlockMappingKey {
        first: bool,
    },
    BlockMappingValue,
    FlowSequenceEntry {
        first: bool,
    },
    /// The key of a mapping of one pair, which stands in a sequence without braces.
    PairKey,
    PairValue,
    PairEnd,
    FlowMappingKey {
        first: bool,
    },
    FlowMappingValue,
    /// A key without `:`.
    FlowMappingNoValue,
    End,
}

/// Where a node stands, for what it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Flow,
    Block,
    /// In a block mapping, whose values may be sequences that are not indented.
    BlockMapping,
}

/// What the parser looks at of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    StreamEnd,
    Directive,
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias,
    Property,
    Scalar,
    /// The start of the stream, which stands nowhere else.
    Other,
}

/// The parser. After an error or [`Event::StreamEnd`] nothing more is to be asked of it.
pub(super) struct Parser<'a> {
    scanner: Scanner<'a>,
    state: State,
    states: Vec<State>,
    /// Handles of tags and what they stand for in this document.
    handles: HashMap<&'a str, Cow<'a, str>>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(input: &'a Input<'_>) -> Self {
        Self {
            scanner: Scanner::new(input),
            state: State::StreamStart,
            states: Vec::new(),
            handles: HashMap::new(),
        }
    }

    /// The next event.
    ///
    /// # Errors
    ///
    /// Broken syntax.
    pub(super) fn next(&mut self) -> Result<Event<'a>> {
        match self.state {
            State::StreamStart => {
                self.take()?;
                self.state = State::DocumentStart { first: true };
                Ok(Event::StreamStart)
            }
            State::DocumentStart { first } => self.document_start(first),
            State::DocumentContent => match self.peek()? {
                Next::Directive | Next::DocumentStart | Next::DocumentEnd | Next::StreamEnd => {
                    self.pop();
                    Ok(empty())
                }
                _ => self.node(Place::Block),
            },
            State::Root => self.node(Place::Block),
            State::DocumentEnd => {
                if self.peek()? == Next::DocumentEnd {
                    self.take()?;
                }
                self.handles.clear();
                self.state = State::DocumentStart { first: false };
                Ok(Event::DocumentEnd)
            }
            State::BlockSequenceEntry { first } => self.block_sequence_entry(first),
            State::IndentlessEntry => self.indentless_entry(),
            State::BlockMappingKey { first } => self.block_mapping_key(first),
            State::BlockMappingValue => self.block_mapping_value(),
            State::FlowSequenceEntry { first } => self.flow_sequence_entry(first),
            State::PairKey => self.pair_key(),
            State::PairValue => self.flow_value(State::PairEnd, Next::FlowSequenceEnd),
            State::PairEnd => {
                self.state = State::FlowSequenceEntry { first: false };
                Ok(Event::MappingEnd)
            }
            State::FlowMappingKey { first } => self.flow_mapping_key(first),
            State::FlowMappingValue => {
                self.flow_value(State::FlowMappingKey { first: false }, Next::FlowMappingEnd)
            }
            State::FlowMappingNoValue => {
                self.peek()?;
                self.state = State::FlowMappingKey { first: false };
                Ok(empty())
            }
            State::End => Ok(Event::StreamEnd),
        }
    }

    fn peek(&mut self) -> Result<Next> {
        Ok(match self.scanner.peek()?.kind {
            Kind::StreamStart => Next::Other,
            Kind::StreamEnd => Next::StreamEnd,
            Kind::Version { .. } | Kind::TagDirective { .. } => Next::Directive,
            Kind::DocumentStart => Next::DocumentStart,
            Kind::DocumentEnd => Next::DocumentEnd,
            Kind::BlockSequenceStart => Next::BlockSequenceStart,
            Kind::BlockMappingStart => Next::BlockMappingStart,
            Kind::BlockEnd => Next::BlockEnd,
            Kind::FlowSequenceStart => Next::FlowSequenceStart,
            Kind::FlowSequenceEnd => Next::FlowSequenceEnd,
            Kind::FlowMappingStart => Next::FlowMappingStart,
            Kind::FlowMappingEnd => Next::FlowMappingEnd,
            Kind::BlockEntry => Next::BlockEntry,
            Kind::FlowEntry => Next::FlowEntry,
            Kind::Key => Next::Key,
            Kind::Value => Next::Value,
            Kind::Alias(_) => Next::Alias,
            Kind::Anchor(_) | Kind::Tag { .. } => Next::Property,
            Kind::Scalar { .. } => Next::Scalar,
        })
    }

    /// Takes the next token.
    fn take(&mut self) -> Result<Option<Kind<'a>>> {
        self.scanner.peek()?;
        Ok(self.scanner.skip().map(|token| token.kind))
    }

    fn pop(&mut self) {
        self.state = self.states.pop().unwrap_or(State::End);
    }

    /// An error at the next token.
    fn error<T>(&mut self, problem: &'static str) -> Result<T> {
        let line = self.scanner.peek()?.line;
        Err(SyntaxError { problem, line })
    }

    /// Reads a node, and what follows it after that.
    fn node_then(&mut self, then: State, place: Place) -> Result<Event<'a>> {
        self.states.push(then);
        self.node(place)
    }

    fn empty_then(&mut self, then: State) -> Result<Event<'a>> {
        self.state = then;
        Ok(empty())
    }

    fn document_start(&mut self, first: bool) -> Result<Event<'a>> {
        if !first {
            while self.peek()? == Next::DocumentEnd {
                self.take()?;
            }
        }
        match self.peek()? {
            Next::StreamEnd => {
                self.take()?;
                self.state = State::End;
                return Ok(Event::StreamEnd);
            }
            Next::Directive | Next::DocumentStart => {}
            _ if first => {
                self.directives()?;
                self.states.push(State::DocumentEnd);
                self.state = State::Root;
                return Ok(Event::DocumentStart);
            }
            _ => {}
        }
        self.directives()?;
        if self.peek()? != Next::DocumentStart {
            return self.error("did not find expected <document start>");
        }
        self.take()?;
        self.states.push(State::DocumentEnd);
        self.state = State::DocumentContent;
        Ok(Event::DocumentStart)
    }

    fn directives(&mut self) -> Result<()> {
        let mut versions = 0;
        while self.peek()? == Next::Directive {
            let line = self.scanner.peek()?.line;
            let error = |problem| Err(SyntaxError { problem, line });
            match self.take()? {
                Some(Kind::Version { major, minor }) => {
                    if versions > 0 {
                        return error("found duplicate %YAML directive");
                    }
                    versions += 1;
                    if (major, minor) != (1, 1) {
                        return error("found incompatible YAML document");
                    }
                }
                Some(Kind::TagDirective { handle, prefix }) => {
                    let other = self.handles.insert(handle, prefix);
                    if other.is_some() {
                        return error("found duplicate %TAG directive");
                    }
                }
                _ => {}
            }
        }
        for (handle, prefix) in [("!", "!"), ("!!", "tag:yaml.org,2002:")] {
            self.handles.entry(handle).or_insert(Cow::Borrowed(prefix));
        }
        Ok(())
    }

    fn node(&mut self, place: Place) -> Result<Event<'a>> {
        let mut anchor = None;
        let mut tag = None;
        if self.peek()? == Next::Alias {
            let alias = self.take()?;
            self.pop();
            return match alias {
                Some(Kind::Alias(name)) => Ok(Event::Alias(name)),
                _ => self.no_content(),
            };
        }
        // An anchor and a tag, in either order.
        let line = self.scanner.peek()?.line;
        let mut tag_line = line;
        loop {
            let token = self.scanner.peek()?;
            match token.kind {
                Kind::Anchor(name) if anchor.is_none() => {
                    anchor = Some(name);
                }
                Kind::Tag { .. } if tag.is_none() => tag_line = token.line,
                _ => break,
            }
            if let Some(Kind::Tag { handle, suffix }) = self.take()? {
                tag = Some((handle, suffix));
            }
        }
        let tag = match tag {
            None => None,
            Some(("", suffix)) => Some(suffix),
            Some((handle, suffix)) => match self.handles.get(handle) {
                Some(prefix) => Some(Cow::Owned(format!("{prefix}{suffix}"))),
                None => {
                    return Err(SyntaxError {
                        problem: "found undefined tag handle",
                        line: tag_line,
                    });
                }
            },
        };
        let next = self.peek()?;
        match next {
            Next::BlockEntry if place == Place::BlockMapping => {
                self.state = State::IndentlessEntry;
                Ok(Event::SequenceStart { anchor })
            }
            Next::Scalar => {
                let token = self.take()?;
                self.pop();
                match token {
                    Some(Kind::Scalar { text, plain }) => Ok(Event::Scalar {
                        anchor,
                        tag,
                        text,
                        plain,
                    }),
                    _ => self.no_content(),
                }
            }
            Next::FlowSequenceStart => {
                self.state = State::FlowSequenceEntry { first: true };
                Ok(Event::SequenceStart { anchor })
            }
            Next::FlowMappingStart => {
                self.state = State::FlowMappingKey { first: true };
                Ok(Event::MappingStart { anchor })
            }
            Next::BlockSequenceStart if place != Place::Flow => {
                self.state = State::BlockSequenceEntry { first: true };
                Ok(Event::SequenceStart { anchor })
            }
            Next::BlockMappingStart if place != Place::Flow => {
                self.state = State::BlockMappingKey { first: true };
                Ok(Event::MappingStart { anchor })
            }
            _ if anchor.is_some() || tag.is_some() => {
                self.pop();
                Ok(Event::Scalar {
                    anchor,
                    tag,
                    text: Cow::Borrowed(""),
                    plain: true,
                })
            }
            _ => self.no_content(),
        }
    }

    fn no_content<T>(&mut self) -> Result<T> {
        self.error("did not find expected node content")
    }

    fn block_sequence_entry(&mut self, first: bool) -> Result<Event<'a>> {
        if first {
            self.take()?;
        }
        match self.peek()? {
            Next::BlockEntry => {
                self.take()?;
                let then = State::BlockSequenceEntry { first: false };
                match self.peek()? {
                    Next::BlockEntry | Next::BlockEnd => self.empty_then(then),
                    _ => self.node_then(then, Place::Block),
                }
            }
            Next::BlockEnd => {
                self.take()?;
                self.pop();
                Ok(Event::SequenceEnd)
            }
            _ => self.error("did not find expected '-' indicator"),
        }
    }

    fn indentless_entry(&mut self) -> Result<Event<'a>> {
        if self.peek()? != Next::BlockEntry {
            self.pop();
            return Ok(Event::SequenceEnd);
        }
        self.take()?;
        match self.peek()? {
            Next::BlockEntry | Next::Key | Next::Value | Next::BlockEnd => {
                self.empty_then(State::IndentlessEntry)
            }
            _ => self.node_then(State::IndentlessEntry, Place::Block),
        }
    }

    fn block_mapping_key(&mut self, first: bool) -> Result<Event<'a>> {
        if first {
            self.take()?;
        }
        match self.peek()? {
            Next::Key => {
                self.take()?;
                self.block_mapping_node(State::BlockMappingValue)
            }
            Next::BlockEnd => {
                self.take()?;
                self.pop();
                Ok(Event::MappingEnd)
            }
            _ => self.error("did not find expected key"),
        }
    }

    fn block_mapping_value(&mut self) -> Result<Event<'a>> {
        let then = State::BlockMappingKey { first: false };
        if self.peek()? != Next::Value {
            return self.empty_then(then);
        }
        self.take()?;
        self.block_mapping_node(then)
    }

    fn block_mapping_node(&mut self, then: State) -> Result<Event<'a>> {
        match self.peek()? {
            Next::Key | Next::Value | Next::BlockEnd => self.empty_then(then),
            _ => self.node_then(then, Place::BlockMapping),
        }
    }

    fn flow_sequence_entry(&mut self, first: bool) -> Result<Event<'a>> {
        if first {
            self.take()?;
        }
        let mut next = self.peek()?;
        if next != Next::FlowSequenceEnd && !first {
            if next != Next::FlowEntry {
                return self.error("did not find expected ',' or ']'");
            }
            self.take()?;
            next = self.peek()?;
        }
        match next {
            Next::Key => {
                self.take()?;
                self.state = State::PairKey;
                Ok(Event::MappingStart { anchor: None })
            }
            Next::FlowSequenceEnd => {
                self.take()?;
                self.pop();
                Ok(Event::SequenceEnd)
            }
            _ => self.node_then(State::FlowSequenceEntry { first: false }, Place::Flow),
        }
    }

    fn pair_key(&mut self) -> Result<Event<'a>> {
        match self.peek()? {
            Next::Value | Next::FlowEntry | Next::FlowSequenceEnd => {
                // Helm's library loses this token, and so cannot read a pair without a key.
                self.take()?;
                self.empty_then(State::PairValue)
            }
            _ => self.node_then(State::PairValue, Place::Flow),
        }
    }

    /// The value of a pair, between the braces or brackets that `end` closes.
    fn flow_value(&mut self, then: State, end: Next) -> Result<Event<'a>> {
        if self.peek()? == Next::Value {
            self.take()?;
            let next = self.peek()?;
            if next != Next::FlowEntry && next != end {
                return self.node_then(then, Place::Flow);
            }
        }
        self.empty_then(then)
    }

    fn flow_mapping_key(&mut self, first: bool) -> Result<Event<'a>> {
        if first {
            self.take()?;
        }
        let mut next = self.peek()?;
        if next != Next::FlowMappingEnd && !first {
            if next != Next::FlowEntry {
                return self.error("did not find expected ',' or '}'");
            }
            self.take()?;
            next = self.peek()?;
        }
        match next {
            Next::Key => {
                self.take()?;
                match self.peek()? {
                    Next::Value | Next::FlowEntry | Next::FlowMappingEnd => {
                        self.empty_then(State::FlowMappingValue)
                    }
                    _ => self.node_then(State::FlowMappingValue, Place::Flow),
                }
            }
            Next::FlowMappingEnd => {
                self.take()?;
                self.pop();
                Ok(Event::MappingEnd)
            }
            _ => self.node_then(State::FlowMappingNoValue, Place::Flow),
        }
    }
}

/// A node of which nothing is written.
fn empty() -> Event<'static> {
    Event::Scalar {
        anchor: None,
        tag: None,
        text: Cow::Borrowed(""),
        plain: true,
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, Parser};
    use crate::yaml::input::Input;
    use crate::yaml::scan::SyntaxError;

    fn events(text: &str) -> Result<usize, SyntaxError> {
        let input = Input::new(text.as_bytes());
        let mut parser = Parser::new(&input);
        let mut count = 0;
        while parser.next()? != Event::StreamEnd {
            count += 1;
        }
        Ok(count)
    }

    #[test]
    fn every_document_of_a_stream_is_read() {
        // Of each document its start, a scalar and its end.
        assert_eq!(events("a\n--- b\n...\n--- |\n c\n"), Ok(1 + 3 * 3));
        assert_eq!(events("# nothing\n"), Ok(1));
    }

    #[test]
    fn a_second_document_needs_its_marker() {
        let error = events("[]\n\n[]\n");
        let problem = "did not find expected <document start>";
        assert_eq!(error, Err(SyntaxError { problem, line: 2 }));
    }

    #[test]
    fn levels_have_a_bound() {
        let problem = "exceeded max depth of 10000";
        let levels = |text: &str, count: usize| events(&text.repeat(count));
        for text in ["[\n", "- "] {
            let error = levels(text, 10_001).map_err(|error| error.problem);
            assert_eq!(error, Err(problem));
        }
        assert_eq!(levels("- ", 10_000), Ok(1 + 1 + 20_000 + 1 + 1));
    }
}
