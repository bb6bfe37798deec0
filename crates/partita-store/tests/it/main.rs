//! A store as its users have it.

mod budgets;
mod settings;
mod support;
mod tables;
