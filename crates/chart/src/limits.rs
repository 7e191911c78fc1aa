//! What a chart may take, so that no archive fills the memory or the day.

use crate::load::LoadError;

/// Content of an archive or a folder, without its sub-charts' own archives. Helm's.
pub(crate) const MAX_CHART: u64 = 100 * 1024 * 1024;
/// An archive as it is packed: one that compresses nothing at all is hardly larger than its content.
pub(crate) const MAX_PACKED: u64 = MAX_CHART + MAX_CHART / 8;
/// One file. Helm's.
pub(crate) const MAX_FILE: u64 = 5 * 1024 * 1024;
/// Charts within charts. Helm has no bound and overflows its stack far beyond.
const MAX_DEPTH: usize = 64;

/// What is left for one chart with all that is in it. Helm counts each archive for itself, so that
/// archives in archives multiply.
pub(crate) struct Budget {
    /// Bytes of archives when unpacked, headers too.
    pub(crate) unpacked: u64,
    /// Files and folders.
    entries: usize,
    /// Bytes of files. Sparse ones may be larger than what is unpacked for them.
    pub(crate) content: u64,
    /// Nodes of YAML: they take many times the memory of the text.
    pub(crate) nodes: usize,
    depth: usize,
}

impl Budget {
    /// What a whole chart has.
    pub(crate) fn new() -> Self {
        Self {
            unpacked: 2 * MAX_CHART,
            entries: 50_000,
            content: MAX_CHART + MAX_CHART / 2,
            nodes: 800_000,
            depth: 0,
        }
    }

    /// Counts a file or folder.
    pub(crate) fn entry(&mut self) -> Result<(), LoadError> {
        let left = self.entries.checked_sub(1);
        self.entries = left.ok_or_else(|| LoadError::new("chart has more than 50000 entries"))?;
        Ok(())
    }

    /// Goes one chart deeper, until [`Self::leave`].
    pub(crate) fn enter(&mut self) -> Result<(), LoadError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(LoadError::new(format!(
                "charts are nested deeper than {MAX_DEPTH}"
            )));
        }
        Ok(())
    }

    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }
}
