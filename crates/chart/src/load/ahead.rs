//! Values read before it is their turn.
//!
//! Duty: read the values of charts side by side while their files are read. Whatever is wrong with them, or takes more
//! than it may, is found again in order when it is their turn, and told then.

use serde_json::{Map, Value};

use super::File;
use crate::limits::MAX_NODES;
use crate::yaml::{Target, decode_for};

/// A file on its way into a chart.
pub(super) struct Piece {
    pub(super) file: File,
    /// The table in it, if it was read ahead.
    pub(super) table: Option<Ahead>,
}

impl From<File> for Piece {
    fn from(file: File) -> Self {
        Self { file, table: None }
    }
}

/// A table that was read ahead.
pub(super) struct Ahead {
    table: Map<String, Value>,
    /// How many nodes it might have had.
    bound: usize,
    /// How many it has.
    nodes: usize,
}

impl Ahead {
    /// Reads a table of at most this many nodes. There is none where anything is wrong.
    pub(super) fn read(data: &[u8], bound: usize) -> Option<Self> {
        let mut left = bound;
        let Ok(Value::Object(table)) = decode_for(data, &Target::Any, &mut left) else {
            return None;
        };
        Some(Self {
            table,
            bound,
            nodes: bound - left,
        })
    }

    /// The table, if it would have been read with this many nodes left, which are then fewer.
    pub(super) fn take(self, left: &mut usize) -> Option<Map<String, Value>> {
        if self.bound > *left {
            return None;
        }
        *left -= self.nodes;
        Some(self.table)
    }
}

/// Says which tables are read ahead.
pub(super) struct Tables {
    /// Nodes that may still be read ahead. All that are may be held together, which is no more than a chart may have.
    left: usize,
}

impl Tables {
    pub(super) fn new() -> Self {
        Self { left: MAX_NODES }
    }

    /// How many nodes of a file may be read ahead: as many as its length lets expect. Aliases may make more of it; who
    /// has them waits.
    pub(super) fn plan(&mut self, name: &str, length: u64) -> Option<usize> {
        if name != "values.yaml" {
            return None;
        }
        let nodes = usize::try_from(length).ok()?;
        self.left = self.left.checked_sub(nodes)?;
        Some(nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::{Ahead, MAX_NODES, Tables};

    #[test]
    fn tables_read_ahead_count_as_if_they_were_read_in_turn() {
        let text = b"a: 1\nb: [1, 2]\n";
        let ahead = Ahead::read(text, text.len()).expect("it is a table");
        let nodes = ahead.nodes;
        let mut left = 100;
        assert_eq!(ahead.take(&mut left).expect("100 are enough").len(), 2);
        assert_eq!(left, 100 - nodes);

        let mut in_turn = 100;
        crate::yaml::decode_for(text, &crate::yaml::Target::Any, &mut in_turn).expect("it reads");
        assert_eq!(in_turn, left);
    }

    #[test]
    fn a_table_that_might_not_fit_is_read_in_turn() {
        let text = b"a: 1\n";
        let ahead = Ahead::read(text, text.len()).expect("it is a table");
        let mut left = text.len() - 1;
        assert!(ahead.take(&mut left).is_none());
        assert_eq!(left, text.len() - 1);
    }

    #[test]
    fn what_is_wrong_or_multiplies_is_not_read_ahead() {
        for text in [
            "a: [",
            "- 1",
            "",
            "a: &a [1,2,3,4]\nb: [*a,*a,*a,*a,*a,*a,*a]\n",
        ] {
            assert!(Ahead::read(text.as_bytes(), text.len()).is_none(), "{text}");
        }
    }

    #[test]
    fn no_more_is_read_ahead_than_a_chart_may_have() {
        let mut tables = Tables::new();
        assert_eq!(tables.plan("templates/values.yaml", 10), None);
        assert_eq!(tables.plan("values.yaml", 10), Some(10));
        let rest = MAX_NODES - 10;
        assert_eq!(tables.plan("values.yaml", rest as u64 + 1), None);
        assert_eq!(tables.plan("values.yaml", rest as u64), Some(rest));
        assert_eq!(tables.plan("values.yaml", 1), None);
    }
}
