//! One option as it was given: its name, its text, and what the text can mean.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// `name=value`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given<'t> {
    pub(super) name: &'t str,
    pub(super) value: &'t str,
}

impl<'t> Given<'t> {
    /// Splits at the first `=`; `None` without one.
    pub(super) fn split(option: &'t str) -> Option<Self> {
        let (name, value) = option.split_once('=')?;
        Some(Self { name: name.trim(), value: value.trim() })
    }

    /// The error that quotes the value and says what would do.
    pub(super) fn refused(&self, expected: impl fmt::Display) -> Error {
        let Self { name, value } = self;
        Error::invalid_argument(format!("{name} cannot be \"{value}\", expected {expected}"))
    }

    pub(super) fn bytes<T: FromStr>(&self) -> Result<T> {
        self.value.parse().map_err(|_| self.refused("a number of bytes such as 65536"))
    }

    /// A number; `example` is one that makes sense.
    pub(super) fn number<T: FromStr>(&self, example: impl fmt::Display) -> Result<T> {
        self.value.parse().map_err(|_| self.refused(format_args!("a number such as {example}")))
    }

    pub(super) fn switch(&self) -> Result<bool> {
        match self.value {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err(self.refused("true or false")),
        }
    }

    /// What the name among `known` stands for.
    pub(super) fn one_of<T>(
        &self,
        known: impl IntoIterator<Item = (&'static str, T)> + Clone,
    ) -> Result<T> {
        let found = known.clone().into_iter().find(|(name, _)| *name == self.value);
        found.map(|(_, meaning)| meaning).ok_or_else(|| {
            let names: Vec<&str> = known.into_iter().map(|(name, _)| name).collect();
            self.refused(format_args!("one of {}", names.join(", ")))
        })
    }

    /// The options within `{…}`.
    pub(super) fn unbraced(&self) -> Option<&'t str> {
        self.value.strip_prefix('{')?.strip_suffix('}')
    }
}
