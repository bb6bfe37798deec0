//! One option as it was given: its name, its text, and what the text can mean.

use std::fmt;
use std::str::FromStr;

use super::nested::{escape, split_list, unescape};
use super::spec::Kind;
use crate::error::{Error, ErrorKind, Result};
use crate::util::compression::CompressionType;

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

    /// The same, where a missing value is an error.
    pub(super) fn of(option: &'t str) -> Result<Self> {
        Self::split(option).ok_or_else(|| {
            Error::invalid_argument(format!(
                "option \"{option}\" has no value, expected {option}=VALUE"
            ))
        })
    }

    /// The error that quotes the value and says what would do.
    pub(super) fn refused(&self, expected: impl fmt::Display) -> Error {
        let Self { name, value } = self;
        Error::invalid_argument(format!("{name} cannot be \"{value}\", expected {expected}"))
    }

    /// The error for an option within braces that is not known there.
    pub(super) fn refused_part(&self, part: &str, expected: impl fmt::Display) -> Error {
        let name = self.name;
        Error::invalid_argument(format!("{name} cannot hold \"{part}\", expected {expected}"))
    }

    /// A whole number from `min` to `max`.
    pub(super) fn number_within(&self, min: i128, max: i128) -> Result<i128> {
        integer(self.value)
            .filter(|number| (min..=max).contains(number))
            .ok_or_else(|| self.refused(format_args!("a number from {min} to {max}")))
    }

    /// A number with a fraction.
    pub(super) fn decimal(&self) -> Result<f64> {
        let plain =
            self.value.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
        let number = self.value.parse().ok().filter(|number: &f64| plain && number.is_finite());
        number.ok_or_else(|| self.refused("a number such as 0.75"))
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

    /// The items of a list.
    pub(super) fn items(self) -> impl Iterator<Item = Given<'t>> {
        split_list(self.value).map(move |value| Given { name: self.name, value })
    }

    /// The options within `{…}`.
    pub(super) fn unbraced(&self) -> Option<&'t str> {
        self.value.strip_prefix('{')?.strip_suffix('}')
    }
}

/// A whole number, with RocksDB's suffixes: `64k` is 65,536.
fn integer(text: &str) -> Option<i128> {
    let shift = match text.bytes().last()?.to_ascii_lowercase() {
        b'k' => 10,
        b'm' => 20,
        b'g' => 30,
        b't' => 40,
        _ => 0,
    };
    let digits = if shift > 0 { &text[..text.len() - 1] } else { text };
    // Longer ones are out of every range, and could leave that of the product.
    let number: i128 = digits.parse().ok().filter(|_| digits.len() <= 24)?;
    Some(number << shift)
}

/// A type of values that are text in files.
pub(super) trait OptionValue: Sized {
    /// What the text can be.
    const KIND: Kind;
    /// Takes the value from the text.
    fn assign(&mut self, given: Given<'_>) -> Result<()>;
    /// The text.
    fn print(&self) -> String;
}

impl OptionValue for bool {
    const KIND: Kind = Kind::Switch;

    fn assign(&mut self, given: Given<'_>) -> Result<()> {
        *self = given.switch()?;
        Ok(())
    }

    fn print(&self) -> String {
        self.to_string()
    }
}

macro_rules! whole_numbers {
    ($($type:ty)*) => {$(
        impl OptionValue for $type {
            const KIND: Kind = Kind::Number { min: <$type>::MIN as i128, max: <$type>::MAX as i128 };

            fn assign(&mut self, given: Given<'_>) -> Result<()> {
                let number = given.number_within(<$type>::MIN as i128, <$type>::MAX as i128)?;
                *self = number as $type;
                Ok(())
            }

            fn print(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

whole_numbers!(i32 u32 u64 usize);

impl OptionValue for f64 {
    const KIND: Kind = Kind::Decimal;

    fn assign(&mut self, given: Given<'_>) -> Result<()> {
        *self = given.decimal()?;
        Ok(())
    }

    /// Six decimals as RocksDB prints them, more where they would lose something.
    fn print(&self) -> String {
        let six = format!("{self:.6}");
        if six.parse() == Ok(*self) { six } else { self.to_string() }
    }
}

impl OptionValue for String {
    const KIND: Kind = Kind::Text;

    fn assign(&mut self, given: Given<'_>) -> Result<()> {
        *self = unescape(given.value);
        Ok(())
    }

    fn print(&self) -> String {
        escape(self)
    }
}

impl<T: OptionValue + Default> OptionValue for Vec<T> {
    const KIND: Kind = Kind::List(&T::KIND);

    fn assign(&mut self, given: Given<'_>) -> Result<()> {
        *self = given
            .items()
            .map(|item| {
                let mut value = T::default();
                value.assign(item)?;
                Ok(value)
            })
            .collect::<Result<_>>()?;
        Ok(())
    }

    fn print(&self) -> String {
        self.iter().map(T::print).collect::<Vec<_>>().join(":")
    }
}

impl OptionValue for CompressionType {
    // Not a choice: names that are known but not had here keep their own error.
    const KIND: Kind = Kind::Compression;

    fn assign(&mut self, given: Given<'_>) -> Result<()> {
        *self = given.value.parse().map_err(|error: Error| match error.kind() {
            ErrorKind::InvalidArgument => {
                let names = CompressionType::ALL.map(CompressionType::options_name);
                given.refused(format_args!("one of {}", names.join(", ")))
            }
            _ => error,
        })?;
        Ok(())
    }

    fn print(&self) -> String {
        self.options_name().to_owned()
    }
}

/// "As elsewhere".
const NO_COMPRESSION_OF_ITS_OWN: &str = "kDisableCompressionOption";

impl OptionValue for Option<CompressionType> {
    const KIND: Kind = Kind::Compression;

    fn assign(&mut self, given: Given<'_>) -> Result<()> {
        if given.value == NO_COMPRESSION_OF_ITS_OWN {
            *self = None;
            return Ok(());
        }
        let mut kind = CompressionType::None;
        kind.assign(given)?;
        *self = Some(kind);
        Ok(())
    }

    fn print(&self) -> String {
        self.map_or(NO_COMPRESSION_OF_ITS_OWN, CompressionType::options_name).to_owned()
    }
}

/// An object of the running program as a file names it: `nullptr`, a name, or `{id=name;…}`.
///
/// ```
/// use partita::options::ObjectName;
///
/// let operator: ObjectName = r"{id=StringAppendOperator;delimiter=\:;}".parse().unwrap();
/// assert_eq!(operator.id(), Some("StringAppendOperator"));
/// assert_eq!(operator.property("delimiter").as_deref(), Some(":"));
/// assert_eq!(ObjectName::default().id(), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectName(String);

/// What stands for no object.
const NULL: &str = "nullptr";

impl Default for ObjectName {
    fn default() -> Self {
        Self(NULL.to_owned())
    }
}

impl ObjectName {
    /// The object of this name, without properties.
    pub fn new(id: &str) -> Self {
        Self(escape(id))
    }

    /// The name, without properties; `None` if there is no object.
    pub fn id(&self) -> Option<&str> {
        let id = match self.inner() {
            Some(inner) => super::nested::split_outside_braces(inner)
                .find_map(|part| part.strip_prefix("id="))
                .unwrap_or(inner),
            None => &self.0,
        };
        (!id.is_empty() && id != NULL).then_some(id)
    }

    /// The property `name` within the braces.
    pub fn property(&self, name: &str) -> Option<String> {
        super::nested::split_outside_braces(self.inner()?)
            .find_map(|part| part.strip_prefix(name)?.strip_prefix('=').map(unescape))
    }

    /// The text as it stands in the file.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn inner(&self) -> Option<&str> {
        self.0.strip_prefix('{')?.strip_suffix('}')
    }
}

impl FromStr for ObjectName {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let text = text.trim();
        Ok(if text.is_empty() { Self::default() } else { Self(text.to_owned()) })
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl OptionValue for ObjectName {
    const KIND: Kind = Kind::Object;

    fn assign(&mut self, given: Given<'_>) -> Result<()> {
        let Ok(name) = given.value.parse();
        *self = name;
        Ok(())
    }

    fn print(&self) -> String {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_multiply_by_powers_of_1024() {
        for (text, number) in [
            ("0", 0),
            ("-1", -1),
            ("64k", 65_536),
            ("2M", 2 << 20),
            ("-3g", -3 << 30),
            ("1T", 1 << 40),
            ("18446744073709551615", i128::from(u64::MAX)),
        ] {
            assert_eq!(integer(text), Some(number), "{text}");
        }
        for text in ["", "k", "1.5", "0x10", "1kk", "1 k", "é"] {
            assert_eq!(integer(text), None, "{text}");
        }
        assert_eq!(integer(&"9".repeat(39)), None);
    }

    #[test]
    fn numbers_print_as_rocksdb_prints_them_unless_that_loses_something() {
        assert_eq!(10.0.print(), "10.000000");
        assert_eq!(0.25.print(), "0.250000");
        assert_eq!(1e-9.print(), "0.000000001");
        assert_eq!((-1.0).print(), "-1.000000");
    }
}
