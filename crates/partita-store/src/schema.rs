use crate::error::Result;
use crate::store::Store;

/// The tables that a program has: [`schema!`](crate::schema!) makes it.
pub trait Schema: Sized {
    /// The names of the tables.
    const TABLES: &'static [&'static str];

    /// Takes the tables out of a store that has them.
    ///
    /// * Errors: `InvalidArgument` for a table that is not there, or whose keys are not in the order of their bytes.
    fn bind(store: Store) -> Result<Self>;

    /// The store that they are in.
    fn store(&self) -> &Store;
}

/// Declares the tables of a store: a struct with a field for each, and behind it the name of its column family.
///
/// What names a table in a program is a field, so a table that is not there does not compile. Nor do names that are empty,
/// that stand twice, or that options files could not quote:
///
/// ```compile_fail
/// # use partita_store::Table;
/// # use partita_store::codec::Utf8;
/// partita_store::schema! {
///     pub struct Shop {
///         pub users: Table<Utf8, Utf8> = "users",
///         pub people: Table<Utf8, Utf8> = "users",
///     }
/// }
/// ```
///
/// Names of codecs are looked for where the macro stands.
///
/// ```
/// # use std::sync::Arc;
/// # use partita::io::MemoryFileSystem;
/// use partita_store::codec::{BigEndian, Utf8};
/// use partita_store::{Schema, StoreBuilder};
///
/// partita_store::schema! {
///     /// What a shop knows.
///     pub struct Shop {
///         /// Who buys: names by number.
///         pub users: Table<BigEndian<u32>, Utf8> = "users",
///         /// What was bought when, by user.
///         pub orders: Table<(BigEndian<u32>, BigEndian<u64>), Utf8> = "orders",
///     }
/// }
///
/// # let disk = Arc::new(MemoryFileSystem::new());
/// let shop: Shop = StoreBuilder::new("/shop.db").file_system(disk).open()?;
/// shop.users.put(7, "Anne")?;
/// assert_eq!(shop.users.get(7)?.as_deref(), Some("Anne"));
/// assert_eq!(Shop::TABLES, ["users", "orders"]);
/// # Ok::<(), partita_store::Error>(())
/// ```
#[macro_export]
macro_rules! schema {
    (
        $(#[$meta:meta])*
        $vis:vis struct $schema:ident {
            $($(#[$table_meta:meta])* $table_vis:vis $table:ident: Table<$key:ty, $value:ty> = $name:literal),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        $vis struct $schema {
            store: $crate::Store,
            $($(#[$table_meta])* $table_vis $table: $crate::Table<$key, $value>,)+
        }

        impl $crate::Schema for $schema {
            const TABLES: &'static [&'static str] = {
                const NAMES: &[&str] = &[$($name),+];
                $crate::assert_table_names(NAMES);
                NAMES
            };

            fn bind(store: $crate::Store) -> $crate::Result<Self> {
                Ok(Self { $($table: store.table($name)?,)+ store })
            }

            fn store(&self) -> &$crate::Store {
                &self.store
            }
        }

        // Checked also where nobody uses the schema.
        const _: &[&str] = <$schema as $crate::Schema>::TABLES;
    };
}

/// Fails to compile for names that cannot be those of tables.
#[doc(hidden)]
pub const fn assert_table_names(names: &[&str]) {
    let mut at = 0;
    while at < names.len() {
        let name = names[at].as_bytes();
        assert!(!name.is_empty(), "a table needs a name");
        let mut byte = 0;
        while byte < name.len() {
            let fits = name[byte].is_ascii_graphic() && name[byte] != b'"' && name[byte] != b'\\';
            assert!(
                fits,
                "the name of a table has printable ASCII characters, no blanks, quotes or backslashes"
            );
            byte += 1;
        }
        let mut other = 0;
        while other < at {
            assert!(!is_same(name, names[other].as_bytes()), "two tables have the same name");
            other += 1;
        }
        at += 1;
    }
}

const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(names: &'static [&'static str]) -> bool {
        std::panic::catch_unwind(|| assert_table_names(names)).is_err()
    }

    #[test]
    fn names_are_graphic_quotable_and_distinct() {
        assert!(!is_refused(&["a", "ab", "b", "#x", "default"]));
        for names in [&["a", "b", "a"][..], &[""], &["a b"], &["a\"b"], &["a\\b"], &["\u{e4}"]] {
            assert!(is_refused(names), "{names:?}");
        }
    }
}
