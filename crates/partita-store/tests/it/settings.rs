//! Profiles and options files: what holds, and what keeps a store from opening.

use partita::ErrorKind;
use partita::io::FileSystem;
use partita_store::{Profile, Schema, StoreBuilder};

use crate::support::{DIR, Shop, builder, disk, write};

const BESIDE: &str = "/data/shop.db.ini";
const CONFIGURED: &str = "/etc/shop/shop.db.ini";

/// What keeps the store from opening with this file beside it.
fn refusal(text: &str) -> String {
    let disk = disk();
    write(&disk, BESIDE, text);
    let error = builder(&disk).open::<Shop>().unwrap_err();
    assert!(!disk.exists(DIR.as_ref()).unwrap(), "refused before anything is made");
    error.to_string()
}

#[test]
fn a_file_changes_the_profile_table_by_table() {
    let disk = disk();
    write(
        &disk,
        BESIDE,
        "[DBOptions]\n  max_background_jobs=3\n\
         [CFOptions \"stock\"]\n  write_buffer_size=8m\n\
         [TableOptions/BlockBasedTable \"users\"]\n  block_size=32k\n",
    );
    let shop: Shop = builder(&disk).profile(Profile::Ssd).open().unwrap();
    assert_eq!(shop.store().db().options().max_background_jobs, 3);
    assert_eq!(shop.store().db().options().wal_ttl_seconds, 1200);
    let (stock, users) = (shop.stock.family().options(), shop.users.family().options());
    assert_eq!((stock.write_buffer_size, stock.table.block_size), (8 << 20, 16 << 10));
    assert_eq!((users.write_buffer_size, users.table.block_size), (128 << 20, 32 << 10));
    // One budget, whatever Ozone's profile has.
    assert_eq!(shop.store().db().cache().budget_bytes(), 8 << 20);

    let settings = shop.store().settings();
    assert_eq!(settings.file(), Some(BESIDE.as_ref()));
    assert_eq!((settings.profile(), settings.findings()), (Profile::Ssd, &[][..]));
    let told = settings.effective();
    let of = |family: Option<&str>, name: &str| {
        let found = told.iter().find(|o| o.family.as_deref() == family && o.name == name);
        let found = found.unwrap();
        (found.asked.clone(), found.line, found.holds.clone(), found.why.clone())
    };
    let text = str::to_owned;
    assert_eq!(
        of(Some("users"), "block_size"),
        (Some(text("32k")), Some(6), text("32768"), text("as asked"))
    );
    assert_eq!(of(Some("stock"), "block_size"), (None, None, text("16384"), text("profile ssd")));
}

#[test]
fn each_line_that_comes_to_nothing_keeps_the_store_from_opening() {
    let place = format!("invalid argument: {BESIDE}, options: line ");
    for (text, told) in [
        ("[DBOptions]\nmax_open_fils=3\n", "2, [DBOptions]: no option is called \"max_open_fils\""),
        ("[CFOptions \"stock\"]\nwrite_buffer_size=big\n", "2, [CFOptions \"stock\"]: "),
        ("[CFOptions \"stocks\"]\n", "1, [CFOptions \"stocks\"]: no column family is called"),
        (
            "\n[TableOptions/BlockBasedTable \"users\"]\ncache_index_and_filter_blocks=true\n",
            "3, [TableOptions/BlockBasedTable \"users\"]: cache_index_and_filter_blocks=true has no effect",
        ),
        (
            "[TableOptions/BlockBasedTable \"users\"]\nblock_cache=1000\n",
            "2, [TableOptions/BlockBasedTable \"users\"]: block_cache=1000 names a run-time object",
        ),
        (
            "[TableOptions/BlockBasedTable \"users\"]\nindex_type=kBinarySearch\npartition_filters=true\n",
            "3, [TableOptions/BlockBasedTable \"users\"]: partition_filters=true comes to nothing",
        ),
        ("max_open_files=3\n", "1: "),
    ] {
        let error = refusal(text);
        assert!(error.starts_with(&format!("{place}{told}")), "{error}");
    }
}

#[test]
fn a_file_is_found_beside_the_store_or_in_the_configuration_directory() {
    let disk = disk();
    let jobs = |number: u32| format!("[DBOptions]\nmax_background_jobs={number}\n");
    let opened = |builder: &StoreBuilder| {
        let shop: Shop = builder.open().unwrap();
        shop.store().db().options().max_background_jobs
    };
    let with_config = builder(&disk).config_dir("/etc/shop");
    assert_eq!(opened(&with_config), 4);
    write(&disk, CONFIGURED, &jobs(7));
    assert_eq!(opened(&with_config), 7);
    assert_eq!(opened(&builder(&disk)), 4);
    write(&disk, BESIDE, &jobs(8));
    assert_eq!(opened(&builder(&disk)), 8);
    let error = with_config.open::<Shop>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(
        error.to_string().contains(BESIDE) && error.to_string().contains(CONFIGURED),
        "{error}"
    );
    // The same directory twice is one.
    assert_eq!(opened(&builder(&disk).config_dir("/data")), 8);
    // A file that is named has to be there.
    assert_eq!(opened(&with_config.options_file(CONFIGURED)), 7);
    let missing = builder(&disk).options_file("/etc/none.ini").open::<Shop>().unwrap_err();
    assert!(missing.cause().is_not_found() && missing.to_string().contains("/etc/none.ini"));
}

#[test]
fn tables_that_the_schema_lacks_keep_their_options_and_can_be_given_others() {
    let disk = disk();
    write(&disk, BESIDE, "[CFOptions \"stock\"]\nwrite_buffer_size=1m\ntarget_file_size_base=2m\n");
    drop(builder(&disk).profile(Profile::Test).open::<Shop>().unwrap());
    partita_store::schema! {
        struct Narrow {
            users: Table<partita_store::codec::Utf8, ()> = "users",
        }
    }
    write(&disk, BESIDE, "[CFOptions \"stock\"]\ntarget_file_size_base=3m\n");
    let narrow: Narrow = builder(&disk).open().unwrap();
    let stock = narrow.store().db().family("stock").unwrap();
    let options = stock.options();
    assert_eq!((options.write_buffer_size, options.target_file_size_base), (1 << 20, 3 << 20));
    assert!(options.disable_auto_compactions);
    assert!(!narrow.users.family().options().disable_auto_compactions);
    assert!(!narrow.users.contains("x").unwrap());
}

/// What is refused does not depend on whether the store is there; the file can be looked at without opening it.
#[test]
fn settings_can_be_had_without_opening() {
    let disk = disk();
    drop(builder(&disk).open::<Shop>().unwrap());
    write(&disk, BESIDE, "[DBOptions]\nuse_fsync=true\nmax_open_files=100\n");
    let settings = builder(&disk).settings::<Shop>().unwrap();
    assert_eq!(settings.options().db.max_open_files, 100);
    assert_eq!(settings.findings().len(), 1);
    assert!(settings.check().is_err());
    assert!(builder(&disk).open::<Shop>().is_err());
    assert!(builder(&disk).open_read_only::<Shop>().is_err());
}
