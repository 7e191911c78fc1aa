//! Rules for texts and numbers.

use std::cmp::Ordering;

use serde_json::Number;

use super::super::fault::quote;
use super::super::number::{Decimal, english, grouped};
use super::{Checked, Checker, Frame};

impl<'p, 'v> Checker<'p, 'v> {
    pub(super) fn text(&mut self, frame: &mut Frame<'_, 'p, 'v>, text: &str) -> Checked<()> {
        let schema = frame.schema;
        if schema.min_length.is_some() || schema.max_length.is_some() {
            self.spend(text.len() / 64)?;
            let length = text.chars().count();
            if let Some(want) = schema.min_length.filter(|want| length < *want) {
                let (got, want) = (grouped(length), grouped(want));
                self.add(frame, || format!("minLength: got {got}, want {want}"))?;
            }
            if let Some(want) = schema.max_length.filter(|want| length > *want) {
                let (got, want) = (grouped(length), grouped(want));
                self.add(frame, || format!("maxLength: got {got}, want {want}"))?;
            }
        }
        if let Some(pattern) = &schema.pattern {
            self.spend(text.len() / 64)?;
            if !pattern.pattern.is_match(text) {
                self.add(frame, || {
                    let (got, want) = (quote(text), quote(&pattern.text));
                    format!("{got} does not match pattern {want}")
                })?;
            }
        }
        Ok(())
    }

    pub(super) fn number(&mut self, frame: &mut Frame<'_, 'p, 'v>, number: &Number) -> Checked<()> {
        use Ordering::{Equal, Greater, Less};
        let schema = frame.schema;
        let got = Decimal::of(number);
        for (keyword, bound, bad) in [
            ("minimum", &schema.minimum, &[Less][..]),
            ("maximum", &schema.maximum, &[Greater]),
            (
                "exclusiveMinimum",
                &schema.exclusive_minimum,
                &[Less, Equal],
            ),
            (
                "exclusiveMaximum",
                &schema.exclusive_maximum,
                &[Greater, Equal],
            ),
        ] {
            if let Some(want) = bound
                && bad.contains(&got.compare(want.decimal))
            {
                let (got, want) = (english(number), english(&want.number));
                self.add(frame, || format!("{keyword}: got {got}, want {want}"))?;
            }
        }
        if let Some(want) = &schema.multiple_of
            && !got.is_multiple_of(want.decimal)
        {
            let (got, want) = (english(number), english(&want.number));
            self.add(frame, || format!("multipleOf: got {got}, want {want}"))?;
        }
        Ok(())
    }
}
