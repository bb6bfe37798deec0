//! Every table that RocksDB 7.8.3 makes of the matrix, written again by Partita: the blocks must be the same.

use partita_compat_rocks::matrix::{Version, matrix};
use partita_testkit::rebuild::{Same, check_table_of_7_8};

#[test]
fn fresh_tables_come_out_the_same() {
    let mut same = Same::default();
    for case in matrix(Version::V7_8) {
        let scratch = tempfile::tempdir().unwrap();
        let db = case.make(scratch.path()).unwrap();
        let paths = db.sst_paths();
        assert_eq!(paths.len(), 1, "{}", case.name);
        check_table_of_7_8(&paths[0], &case.options(), &case.name, &mut same);
    }
    println!("{same:?}");
    assert!(same.tables > 120 && same.filters_of_other_shape == 0, "{same:?}");
}
