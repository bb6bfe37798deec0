//! A store as its users have it.

mod budgets;
mod objects;
mod objects_model;
mod settings;
mod support;
mod tables;
mod updates;
