//! What every iterator over internal keys can do.
