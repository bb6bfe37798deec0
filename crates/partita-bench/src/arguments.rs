//! Options of benchmarks. They are made by hand, since clap's derive would have the workspace of the compatibility tests build
//! RocksDB anew.

use clap::error::{Error, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches};

/// An option that has a value, and one by default.
pub(crate) fn option(
    name: &'static str,
    value: &'static str,
    default: &'static str,
    help: &'static str,
) -> Arg {
    Arg::new(name).long(name).value_name(value).default_value(default).help(help)
}

/// The same with values, divided by commas.
pub(crate) fn list_option(
    name: &'static str,
    value: &'static str,
    default: &'static str,
    help: &'static str,
) -> Arg {
    option(name, value, default, help).value_delimiter(',').action(ArgAction::Append)
}

/// The value of an option that always has one.
pub(crate) fn value_of<T: Clone + Send + Sync + 'static>(
    matches: &ArgMatches,
    name: &str,
) -> Result<T, Error> {
    let value = matches.get_one(name).cloned();
    value.ok_or_else(|| Error::raw(ErrorKind::MissingRequiredArgument, name))
}

/// The values of an option that has several.
pub(crate) fn values_of<T: Clone + Send + Sync + 'static>(
    matches: &ArgMatches,
    name: &str,
) -> Vec<T> {
    matches.get_many(name).unwrap_or_default().cloned().collect()
}
