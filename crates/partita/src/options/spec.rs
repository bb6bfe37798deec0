//! The table of options: every option is declared once, and what there is to know of it stands in its row.
//!
//! ```text
//!                    one declaration (db.rs, column_family.rs, table_rows.rs, compression.rs, compaction.rs)
//!                                                   |
//!          +--------------+--------------+----------+---+-------------------+----------------------+
//!     typed field      default        parser         printer         docs/options.md     `options --effective`
//! ```
//!
//! * A row with a setter and a getter is a typed field of its group: a layer acts on it, or will.
//! * A row without them is *carried*: its value is checked, kept as text and written back, so that RocksDB finds its own
//!   settings again; the row says why nothing acts on it.
//! * A group is a struct with rows: one for each kind of section, and one for each value of the form `{a=1;b=2;}`.

use super::carried::Carried;
use super::nested::split_outside_braces;
use super::value::Given;
use crate::error::{Error, Result};

/// What an option is, beside its value.
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// The name in RocksDB's options files.
    pub name: &'static str,
    /// What its value can be.
    pub kind: Kind,
    /// RocksDB 11.8's default, as that writes it.
    pub rocksdb_default: &'static str,
    /// Why Partita's default is another one; empty if it is not.
    pub why_other_default: &'static str,
    /// The RocksDB version that first knows it; "6.2" stands for that and earlier ones.
    pub since: &'static str,
    /// The first RocksDB version that accepts and ignores it, if there is one.
    pub until: Option<&'static str>,
    /// Who acts on it.
    pub effect: Effect,
    /// What it is.
    pub doc: &'static str,
}

/// What comes of an option here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The layer of that name acts on it.
    Honoured(&'static str),
    /// It is accepted, kept and written back, and nothing acts on it, for that reason.
    NoEffect(&'static str),
    /// It names an object of the running program, which is never made from the file; the reason or the way.
    RuntimeObject(&'static str),
    /// Only the harmless value is accepted.
    Refused {
        /// The value that asks for nothing.
        harmless: &'static str,
        /// What is not there.
        why: &'static str,
    },
}

impl Effect {
    /// One word for tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Honoured(_) => "honoured",
            Self::NoEffect(_) => "no effect",
            Self::RuntimeObject(_) => "run-time object",
            Self::Refused { .. } => "refused",
        }
    }

    /// By whom, or why not.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Honoured(text) | Self::NoEffect(text) | Self::RuntimeObject(text) => text,
            Self::Refused { why, .. } => why,
        }
    }
}

/// What a value can be.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// `true` or `false`.
    Switch,
    /// A whole number; `k`, `m`, `g`, `t` multiply by powers of 1,024.
    Number {
        /// The least.
        min: i128,
        /// The greatest.
        max: i128,
    },
    /// A number with a fraction.
    Decimal,
    /// Text, escaped in files.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// The name of a compression.
    Compression,
    /// Items between colons.
    List(&'static Kind),
    /// `{name=value;…}` with these names.
    Struct(&'static [(&'static str, Kind)]),
    /// The same, with a group of its own.
    Group(&'static str),
    /// `nullptr`, the name of an object, or `{id=…;…}`.
    Object,
}

impl Kind {
    /// Every value of an unsigned 32-bit number.
    pub(super) const U32: Self = Self::Number { min: 0, max: u32::MAX as i128 };
    /// Every value of a signed 32-bit number.
    pub(super) const I32: Self = Self::Number { min: i32::MIN as i128, max: i32::MAX as i128 };
    /// Every value of an unsigned 64-bit number.
    pub(super) const U64: Self = Self::Number { min: 0, max: u64::MAX as i128 };

    /// Checks that the value is one.
    pub(super) fn check(&self, given: Given<'_>) -> Result<()> {
        match self {
            Self::Switch => given.switch().map(drop),
            Self::Number { min, max } => given.number_within(*min, *max).map(drop),
            Self::Decimal => given.decimal().map(drop),
            Self::Choice(names) => given.one_of(names.iter().map(|name| (*name, ()))),
            Self::List(item) => given.items().try_for_each(|item_given| item.check(item_given)),
            Self::Struct(fields) => check_struct(fields, given),
            Self::Text | Self::Compression | Self::Group(_) | Self::Object => Ok(()),
        }
    }

    /// In words, for the documentation.
    pub fn describe(&self) -> String {
        match self {
            Self::Switch => "true, false".to_owned(),
            Self::Number { min, max } => match *max {
                max if max == i128::from(u64::MAX) && *min == 0 => "number".to_owned(),
                max if [i128::from(u64::MAX), i128::from(u32::MAX), i128::from(i32::MAX)]
                    .contains(&max) =>
                {
                    format!("number from {min}")
                }
                max => format!("{min} to {max}"),
            },
            Self::Decimal => "decimal".to_owned(),
            Self::Text => "text".to_owned(),
            Self::Choice(names) => names.join(", "),
            Self::Compression => "compression".to_owned(),
            Self::List(item) => format!("list of {}", item.describe()),
            Self::Struct(fields) => {
                let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
                format!("{{{}}}", names.join("; "))
            }
            Self::Group(names) => format!("{{{names}}}"),
            Self::Object => "object".to_owned(),
        }
    }
}

fn check_struct(fields: &[(&str, Kind)], given: Given<'_>) -> Result<()> {
    let text = given.unbraced().ok_or_else(|| given.refused("options in braces"))?;
    for option in split_outside_braces(text) {
        let inner = Given::of(option)?;
        let (_, kind) = fields.iter().find(|(name, _)| *name == inner.name).ok_or_else(|| {
            let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
            given.refused_part(inner.name, names.join(", "))
        })?;
        kind.check(inner)?;
    }
    Ok(())
}

/// How a value gets into its group, and out of it as text.
pub(super) struct Access<T> {
    pub(super) set: fn(&mut T, Given<'_>) -> Result<()>,
    pub(super) get: fn(&T) -> String,
}

/// One option of the group `T`.
pub(super) struct Row<T> {
    pub(super) spec: OptionSpec,
    /// `None`: carried.
    pub(super) access: Option<Access<T>>,
}

/// A struct of options with a row for each.
pub(super) trait OptionGroup: Sized + 'static {
    /// The rows, sorted as declared.
    fn rows() -> &'static [Row<Self>];
    /// The values on which nothing acts.
    fn carried(&self) -> &Carried;
    /// The same, to change them.
    fn carried_mut(&mut self) -> &mut Carried;

    /// The row of this name.
    fn row(name: &str) -> Option<&'static Row<Self>> {
        Self::rows().iter().find(|row| row.spec.name == name)
    }

    /// Gives one option its value.
    ///
    /// * Errors: `InvalidArgument` for an unknown name or a value that is not one of its own; `NotSupported` for what
    ///   is refused.
    fn assign_option(&mut self, given: Given<'_>) -> Result<()> {
        let row = Self::row(given.name)
            .ok_or_else(|| Error::invalid_argument(format!("unknown option \"{}\"", given.name)))?;
        row.spec.kind.check(given)?;
        if let Effect::Refused { harmless, why } = row.spec.effect
            && given.value != harmless
        {
            return Err(Error::not_supported(format!(
                "{}={}: {why}; expected {harmless}",
                given.name, given.value
            )));
        }
        match &row.access {
            Some(access) => (access.set)(self, given),
            None => {
                self.carried_mut().put(&row.spec, given.value);
                Ok(())
            }
        }
    }

    /// The value of a row's option, as text.
    fn print_option(&self, row: &Row<Self>) -> String {
        match &row.access {
            Some(access) => (access.get)(self),
            None => self.carried().get(&row.spec).to_owned(),
        }
    }

    /// Takes `{name=value;…}`; what is not named keeps its value.
    fn assign_braced(&mut self, given: Given<'_>) -> Result<()> {
        let text = given
            .unbraced()
            .ok_or_else(|| given.refused("options in braces such as {name=value;}"))?;
        for option in split_outside_braces(text) {
            let inner = Given::of(option)?;
            if Self::row(inner.name).is_none() {
                let names: Vec<&str> = Self::rows().iter().map(|row| row.spec.name).collect();
                return Err(given.refused_part(inner.name, names.join(", ")));
            }
            self.assign_option(inner)?;
        }
        Ok(())
    }

    /// `{name=value;…}` of what RocksDB 7.8 knows, and of all that is not as RocksDB has it by default.
    fn print_braced(&self) -> String {
        let mut text = "{".to_owned();
        for row in Self::rows() {
            let value = self.print_option(row);
            if known_to_all(row.spec.since) || value != row.spec.rocksdb_default {
                text += &format!("{}={value};", row.spec.name);
            }
        }
        text + "}"
    }
}

/// Whether every RocksDB version for which we write knows what exists since `version`.
pub(super) fn known_to_all(version: &str) -> bool {
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().unwrap_or(u32::MAX));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) <= (7, 8)
}

/// Declares a group: its struct, its defaults, its rows.
///
/// `fields` have a type and a row each, `beside` are fields without a row, `rows` reach into those, `carried` have no
/// field.
macro_rules! options {
    (
        $(#[$meta:meta])*
        pub struct $group:ident;
        fields {$(
            $(#[doc = $doc:literal])+
            $field:ident $(as $name:literal)?: $type:ty = $default:expr, rocksdb $rocks:literal $(because $why:literal)?
            $(, in $min:literal to $max:expr)?, since $since:literal, $effect:expr;
        )*}
        beside {$($(#[doc = $bdoc:literal])+ $bfield:ident: $btype:ty = $bdefault:expr;)*}
        rows {$(
            $(#[doc = $rdoc:literal])+
            $rname:literal: $rkind:expr, rocksdb $rrocks:literal $(because $rwhy:literal)?, since $rsince:literal,
            $reffect:expr, set $rset:expr, get $rget:expr;
        )*}
        carried {$(
            $cname:ident: $ckind:expr, $cdefault:literal, since $csince:literal $(until $cuntil:literal)?, $ceffect:expr,
            $cdoc:literal;
        )*}
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $group {
            $($(#[doc = $doc])+ pub $field: $type,)*
            $($(#[doc = $bdoc])+ pub $bfield: $btype,)*
            /// Options on which nothing acts: kept, and written back for RocksDB.
            pub carried: $crate::options::carried::Carried,
        }

        impl Default for $group {
            fn default() -> Self {
                Self {
                    $($field: $default,)*
                    $($bfield: $bdefault,)*
                    carried: $crate::options::carried::Carried::new(),
                }
            }
        }

        impl $group {
            /// The value of the option that RocksDB calls `name`, as text; `None` if there is none of that name here.
            pub fn get(&self, name: &str) -> Option<String> {
                use $crate::options::spec::OptionGroup as _;
                Self::row(name).map(|row| self.print_option(row))
            }

            /// Gives the option that RocksDB calls `name` a value.
            ///
            /// * Errors: `InvalidArgument` for an unknown name or a value that is not one of its own; `NotSupported`
            ///   for what is refused.
            pub fn set(&mut self, name: &str, value: &str) -> $crate::error::Result<()> {
                use $crate::options::spec::OptionGroup as _;
                self.assign_option($crate::options::value::Given { name, value: value.trim() })
            }

            /// What there is to know of each option.
            pub fn specs() -> impl Iterator<Item = &'static $crate::options::OptionSpec> {
                use $crate::options::spec::OptionGroup as _;
                Self::rows().iter().map(|row| &row.spec)
            }
        }

        impl $crate::options::spec::OptionGroup for $group {
            fn rows() -> &'static [$crate::options::spec::Row<Self>] {
                use $crate::options::spec::{Access, OptionSpec, Row};
                const ROWS: &[Row<$group>] = &[
                    $(Row {
                        spec: OptionSpec {
                            name: options!(@name $field $($name)?),
                            kind: options!(@kind $type $(, $min, $max)?),
                            rocksdb_default: $rocks,
                            why_other_default: concat!($($why)?),
                            since: $since,
                            until: None,
                            effect: $effect,
                            doc: concat!($($doc),+),
                        },
                        access: Some(Access {
                            set: |group, given| {
                                $crate::options::value::OptionValue::assign(&mut group.$field, given)
                            },
                            get: |group| $crate::options::value::OptionValue::print(&group.$field),
                        }),
                    },)*
                    $(Row {
                        spec: OptionSpec {
                            name: $rname,
                            kind: $rkind,
                            rocksdb_default: $rrocks,
                            why_other_default: concat!($($rwhy)?),
                            since: $rsince,
                            until: None,
                            effect: $reffect,
                            doc: concat!($($rdoc),+),
                        },
                        access: Some(Access { set: $rset, get: $rget }),
                    },)*
                    $(Row {
                        spec: OptionSpec {
                            name: stringify!($cname),
                            kind: $ckind,
                            rocksdb_default: $cdefault,
                            why_other_default: "",
                            since: $csince,
                            until: options!(@until $($cuntil)?),
                            effect: $ceffect,
                            doc: $cdoc,
                        },
                        access: None,
                    },)*
                ];
                ROWS
            }

            fn carried(&self) -> &$crate::options::carried::Carried {
                &self.carried
            }

            fn carried_mut(&mut self) -> &mut $crate::options::carried::Carried {
                &mut self.carried
            }
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
    (@kind $type:ty) => { <$type as $crate::options::value::OptionValue>::KIND };
    (@kind $type:ty, $min:literal, $max:expr) => {
        $crate::options::spec::Kind::Number { min: $min, max: $max as i128 }
    };
    (@until) => { None };
    (@until $until:literal) => { Some($until) };
}

pub(super) use options;

#[cfg(test)]
mod tests {
    use super::super::{
        ColumnFamilyOptions, CompressionOptions, DbOptions, FifoOptions, TableOptions,
        UniversalOptions,
    };
    use super::*;
    use crate::error::ErrorKind;

    /// Every row is judged by the same measure, whatever its group.
    fn check_rows<T: OptionGroup + Default + PartialEq + std::fmt::Debug>() {
        let mut names: Vec<&str> = T::rows().iter().map(|row| row.spec.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), T::rows().len(), "a name stands twice");
        for row in T::rows() {
            let spec = &row.spec;
            let mut group = T::default();
            let ours = group.print_option(row);
            assert_eq!(
                ours == spec.rocksdb_default,
                spec.why_other_default.is_empty(),
                "{}: ours is {ours}, RocksDB's {}, and the reason is {:?}",
                spec.name,
                spec.rocksdb_default,
                spec.why_other_default
            );
            for value in [spec.rocksdb_default, &ours] {
                group
                    .assign_option(Given { name: spec.name, value })
                    .unwrap_or_else(|error| panic!("{value}: {error}"));
                assert_eq!(group.print_option(row), value, "{}", spec.name);
            }
            assert_eq!(group, T::default(), "{}", spec.name);
            assert!(
                !spec.doc.trim().is_empty() && !spec.effect.reason().is_empty(),
                "{}",
                spec.name
            );
            assert!(
                row.access.is_some() || !matches!(spec.effect, Effect::Honoured(_)),
                "{} is {}, but has no field",
                spec.name,
                spec.effect.as_str()
            );
        }
    }

    #[test]
    fn every_row_takes_its_defaults_and_says_why_ours_is_another() {
        check_rows::<DbOptions>();
        check_rows::<ColumnFamilyOptions>();
        check_rows::<TableOptions>();
        check_rows::<CompressionOptions>();
        check_rows::<UniversalOptions>();
        check_rows::<FifoOptions>();
    }

    #[test]
    fn a_value_out_of_its_range_is_refused_with_the_range() {
        let error = DbOptions::default()
            .assign_option(Given { name: "max_open_files", value: "-2" })
            .unwrap_err();
        assert!(error.message().contains("-1 to 2147483647"), "{error}");
    }

    #[test]
    fn what_is_refused_is_accepted_when_it_asks_for_nothing() {
        let mut options = DbOptions::default();
        options.assign_option(Given { name: "allow_2pc", value: "false" }).unwrap();
        let error = options.assign_option(Given { name: "allow_2pc", value: "true" }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotSupported);
    }
}
