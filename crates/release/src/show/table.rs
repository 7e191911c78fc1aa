//! Tables of text: columns as wide as their widest line, with a tab between them.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A table of these rows. A cell of several lines is measured by its widest one and then taken as a whole, so that most
/// such cells end in three dots: that is what Helm's tables do.
pub(super) fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let mut widths = [0; COLUMNS];
    for row in rows {
        for (widest, cell) in widths.iter_mut().zip(row) {
            let width = cell.split('\n').map(UnicodeWidthStr::width).max();
            *widest = (*widest).max(width.unwrap_or(0));
        }
    }
    let lines: Vec<String> = rows.iter().flat_map(|row| lines(row, widths)).collect();
    lines.join("\n") + "\n"
}

/// The lines of a row.
fn lines<const COLUMNS: usize>(row: &[String; COLUMNS], widths: [usize; COLUMNS]) -> Vec<String> {
    let cells: Vec<(String, usize)> = row
        .iter()
        .zip(widths)
        .map(|(cell, width)| (resized(cell, width), width))
        .collect();
    let height = cells.iter().map(|(cell, _)| cell.split('\n').count()).max();
    let line = |at: usize| {
        let parts = cells.iter().map(|(cell, width)| {
            let part = cell.split('\n').nth(at).unwrap_or_default();
            resized(part, *width)
        });
        parts.collect::<Vec<_>>().join("\t")
    };
    (0..height.unwrap_or(0)).map(line).collect()
}

/// A text filled up with blanks to a width, or cut with three dots at its end.
fn resized(text: &str, width: usize) -> String {
    let own = columns(text);
    if width == 0 || own == width {
        return text.to_owned();
    }
    if own < width {
        return format!("{text}{}", " ".repeat(width - own));
    }
    let mut kept = String::new();
    let mut used = 0;
    for c in text.chars() {
        kept.push(c);
        used += c.width().unwrap_or(0);
        // One character is kept even where the dots alone are too wide.
        if used + 3 >= width {
            break;
        }
    }
    kept + "..."
}

/// How many columns a text takes when its line ends take none.
fn columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}
