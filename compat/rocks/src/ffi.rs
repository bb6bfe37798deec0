//! The part of `rocksdb/c.h` that is used here; equal in RocksDB 7.8 and 11.8.

use std::ffi::{c_char, c_int, c_uchar, c_void};

macro_rules! handles {
    ($($name:ident),+ $(,)?) => {$(
        #[repr(C)]
        pub(crate) struct $name {
            _opaque: [u8; 0],
        }
    )+};
}

handles! {
    Db, Options, ReadOptions, WriteOptions, FlushOptions, EnvOptions, IngestOptions, Snapshot, Iter, WriteBatch,
    SstFileWriter, ColumnFamily, Env, Cache, CompactOptions, WalIterator, WalReadOptions, PinnableSlice, Checkpoint,
}

unsafe extern "C" {
    pub(crate) fn rocksdb_free(pointer: *mut c_void);

    pub(crate) fn rocksdb_options_create() -> *mut Options;
    pub(crate) fn rocksdb_options_destroy(options: *mut Options);
    pub(crate) fn rocksdb_options_enable_statistics(options: *mut Options);
    pub(crate) fn rocksdb_options_statistics_get_string(options: *mut Options) -> *mut c_char;
    pub(crate) fn rocksdb_get_options_from_string(
        base: *const Options,
        text: *const c_char,
        out: *mut Options,
        error: *mut *mut c_char,
    );
    pub(crate) fn rocksdb_readoptions_create() -> *mut ReadOptions;
    pub(crate) fn rocksdb_readoptions_destroy(options: *mut ReadOptions);
    pub(crate) fn rocksdb_readoptions_set_total_order_seek(options: *mut ReadOptions, on: c_uchar);
    pub(crate) fn rocksdb_writeoptions_create() -> *mut WriteOptions;
    pub(crate) fn rocksdb_readoptions_set_snapshot(
        options: *mut ReadOptions,
        snapshot: *const Snapshot,
    );
    pub(crate) fn rocksdb_writeoptions_destroy(options: *mut WriteOptions);
    pub(crate) fn rocksdb_writeoptions_set_sync(options: *mut WriteOptions, on: c_uchar);
    pub(crate) fn rocksdb_writeoptions_disable_WAL(options: *mut WriteOptions, on: c_int);
    pub(crate) fn rocksdb_flushoptions_create() -> *mut FlushOptions;
    pub(crate) fn rocksdb_flushoptions_destroy(options: *mut FlushOptions);
    pub(crate) fn rocksdb_envoptions_create() -> *mut EnvOptions;
    pub(crate) fn rocksdb_envoptions_destroy(options: *mut EnvOptions);
    pub(crate) fn rocksdb_ingestexternalfileoptions_create() -> *mut IngestOptions;
    pub(crate) fn rocksdb_ingestexternalfileoptions_destroy(options: *mut IngestOptions);

    pub(crate) fn rocksdb_open(
        options: *const Options,
        path: *const c_char,
        error: *mut *mut c_char,
    ) -> *mut Db;
    pub(crate) fn rocksdb_close(db: *mut Db);
    pub(crate) fn rocksdb_property_int(db: *mut Db, name: *const c_char, out: *mut u64) -> c_int;
    pub(crate) fn rocksdb_write(
        db: *mut Db,
        options: *const WriteOptions,
        batch: *mut WriteBatch,
        error: *mut *mut c_char,
    );
    pub(crate) fn rocksdb_flush(db: *mut Db, options: *const FlushOptions, error: *mut *mut c_char);
    pub(crate) fn rocksdb_get(
        db: *mut Db,
        options: *const ReadOptions,
        key: *const c_char,
        key_len: usize,
        value_len: *mut usize,
        error: *mut *mut c_char,
    ) -> *mut c_char;
    pub(crate) fn rocksdb_get_pinned(
        db: *mut Db,
        options: *const ReadOptions,
        key: *const c_char,
        key_len: usize,
        error: *mut *mut c_char,
    ) -> *mut PinnableSlice;
    pub(crate) fn rocksdb_pinnableslice_destroy(slice: *mut PinnableSlice);
    pub(crate) fn rocksdb_create_snapshot(db: *mut Db) -> *const Snapshot;
    pub(crate) fn rocksdb_release_snapshot(db: *mut Db, snapshot: *const Snapshot);
    pub(crate) fn rocksdb_ingest_external_file(
        db: *mut Db,
        files: *const *const c_char,
        count: usize,
        options: *const IngestOptions,
        error: *mut *mut c_char,
    );

    pub(crate) fn rocksdb_create_iterator(db: *mut Db, options: *const ReadOptions) -> *mut Iter;
    pub(crate) fn rocksdb_iter_destroy(iter: *mut Iter);
    pub(crate) fn rocksdb_iter_valid(iter: *const Iter) -> c_uchar;
    pub(crate) fn rocksdb_iter_seek_to_first(iter: *mut Iter);
    pub(crate) fn rocksdb_iter_seek_to_last(iter: *mut Iter);
    pub(crate) fn rocksdb_iter_seek(iter: *mut Iter, key: *const c_char, key_len: usize);
    pub(crate) fn rocksdb_iter_seek_for_prev(iter: *mut Iter, key: *const c_char, key_len: usize);
    pub(crate) fn rocksdb_iter_next(iter: *mut Iter);
    pub(crate) fn rocksdb_iter_prev(iter: *mut Iter);
    pub(crate) fn rocksdb_iter_key(iter: *const Iter, len: *mut usize) -> *const c_char;
    pub(crate) fn rocksdb_iter_value(iter: *const Iter, len: *mut usize) -> *const c_char;
    pub(crate) fn rocksdb_iter_get_error(iter: *const Iter, error: *mut *mut c_char);

    pub(crate) fn rocksdb_writebatch_create() -> *mut WriteBatch;
    pub(crate) fn rocksdb_writebatch_destroy(batch: *mut WriteBatch);
    pub(crate) fn rocksdb_writebatch_put(
        batch: *mut WriteBatch,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
    );
    pub(crate) fn rocksdb_writebatch_merge(
        batch: *mut WriteBatch,
        key: *const c_char,
        key_len: usize,
        operand: *const c_char,
        operand_len: usize,
    );
    pub(crate) fn rocksdb_writebatch_delete(
        batch: *mut WriteBatch,
        key: *const c_char,
        key_len: usize,
    );
    pub(crate) fn rocksdb_writebatch_singledelete(
        batch: *mut WriteBatch,
        key: *const c_char,
        key_len: usize,
    );
    pub(crate) fn rocksdb_writebatch_delete_range(
        batch: *mut WriteBatch,
        start: *const c_char,
        start_len: usize,
        end: *const c_char,
        end_len: usize,
    );

    pub(crate) fn rocksdb_writebatch_put_cf(
        batch: *mut WriteBatch,
        family: *mut ColumnFamily,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
    );
    pub(crate) fn rocksdb_writebatch_merge_cf(
        batch: *mut WriteBatch,
        family: *mut ColumnFamily,
        key: *const c_char,
        key_len: usize,
        operand: *const c_char,
        operand_len: usize,
    );
    pub(crate) fn rocksdb_writebatch_delete_cf(
        batch: *mut WriteBatch,
        family: *mut ColumnFamily,
        key: *const c_char,
        key_len: usize,
    );
    pub(crate) fn rocksdb_writebatch_singledelete_cf(
        batch: *mut WriteBatch,
        family: *mut ColumnFamily,
        key: *const c_char,
        key_len: usize,
    );
    pub(crate) fn rocksdb_writebatch_delete_range_cf(
        batch: *mut WriteBatch,
        family: *mut ColumnFamily,
        start: *const c_char,
        start_len: usize,
        end: *const c_char,
        end_len: usize,
    );
    pub(crate) fn rocksdb_writebatch_put_log_data(
        batch: *mut WriteBatch,
        data: *const c_char,
        len: usize,
    );
    pub(crate) fn rocksdb_writebatch_data(batch: *mut WriteBatch, len: *mut usize)
    -> *const c_char;

    pub(crate) fn rocksdb_create_column_family(
        db: *mut Db,
        options: *const Options,
        name: *const c_char,
        error: *mut *mut c_char,
    ) -> *mut ColumnFamily;
    pub(crate) fn rocksdb_drop_column_family(
        db: *mut Db,
        family: *mut ColumnFamily,
        error: *mut *mut c_char,
    );
    pub(crate) fn rocksdb_column_family_handle_destroy(family: *mut ColumnFamily);
    pub(crate) fn rocksdb_list_column_families(
        options: *const Options,
        path: *const c_char,
        count: *mut usize,
        error: *mut *mut c_char,
    ) -> *mut *mut c_char;
    pub(crate) fn rocksdb_list_column_families_destroy(names: *mut *mut c_char, count: usize);
    pub(crate) fn rocksdb_flush_wal(db: *mut Db, sync: c_uchar, error: *mut *mut c_char);
    pub(crate) fn rocksdb_checkpoint_object_create(
        db: *mut Db,
        error: *mut *mut c_char,
    ) -> *mut Checkpoint;
    pub(crate) fn rocksdb_checkpoint_create(
        checkpoint: *mut Checkpoint,
        dir: *const c_char,
        log_size_for_flush: u64,
        error: *mut *mut c_char,
    );
    pub(crate) fn rocksdb_checkpoint_object_destroy(checkpoint: *mut Checkpoint);
    pub(crate) fn rocksdb_batched_multi_get_cf(
        db: *mut Db,
        options: *const ReadOptions,
        family: *mut ColumnFamily,
        count: usize,
        keys: *const *const c_char,
        key_lens: *const usize,
        values: *mut *mut PinnableSlice,
        errors: *mut *mut c_char,
        is_sorted: bool,
    );
    pub(crate) fn rocksdb_pinnableslice_value(
        slice: *const PinnableSlice,
        len: *mut usize,
    ) -> *const c_char;

    pub(crate) fn rocksdb_open_column_families(
        options: *const Options,
        path: *const c_char,
        count: c_int,
        names: *const *const c_char,
        family_options: *const *const Options,
        handles: *mut *mut ColumnFamily,
        error: *mut *mut c_char,
    ) -> *mut Db;
    pub(crate) fn rocksdb_create_default_env() -> *mut Env;
    pub(crate) fn rocksdb_env_destroy(env: *mut Env);
    pub(crate) fn rocksdb_cache_create_lru(capacity: usize) -> *mut Cache;
    pub(crate) fn rocksdb_cache_destroy(cache: *mut Cache);
    pub(crate) fn rocksdb_load_latest_options(
        path: *const c_char,
        env: *mut Env,
        ignore_unknown_options: bool,
        cache: *mut Cache,
        options: *mut *mut Options,
        count: *mut usize,
        names: *mut *mut *mut c_char,
        family_options: *mut *mut *mut Options,
        error: *mut *mut c_char,
    );
    pub(crate) fn rocksdb_load_latest_options_destroy(
        options: *mut Options,
        names: *mut *mut c_char,
        family_options: *mut *mut Options,
        count: usize,
    );
    pub(crate) fn rocksdb_flush_cf(
        db: *mut Db,
        options: *const FlushOptions,
        family: *mut ColumnFamily,
        error: *mut *mut c_char,
    );
    pub(crate) fn rocksdb_get_cf(
        db: *mut Db,
        options: *const ReadOptions,
        family: *mut ColumnFamily,
        key: *const c_char,
        key_len: usize,
        value_len: *mut usize,
        error: *mut *mut c_char,
    ) -> *mut c_char;
    pub(crate) fn rocksdb_create_iterator_cf(
        db: *mut Db,
        options: *const ReadOptions,
        family: *mut ColumnFamily,
    ) -> *mut Iter;
    pub(crate) fn rocksdb_get_latest_sequence_number(db: *mut Db) -> u64;
    pub(crate) fn rocksdb_get_updates_since(
        db: *mut Db,
        sequence: u64,
        options: *const WalReadOptions,
        error: *mut *mut c_char,
    ) -> *mut WalIterator;
    pub(crate) fn rocksdb_wal_iter_next(iter: *mut WalIterator);
    pub(crate) fn rocksdb_wal_iter_valid(iter: *const WalIterator) -> c_uchar;
    pub(crate) fn rocksdb_wal_iter_status(iter: *const WalIterator, error: *mut *mut c_char);
    pub(crate) fn rocksdb_wal_iter_get_batch(
        iter: *const WalIterator,
        sequence: *mut u64,
    ) -> *mut WriteBatch;
    pub(crate) fn rocksdb_wal_iter_destroy(iter: *const WalIterator);
    pub(crate) fn rocksdb_compactoptions_create() -> *mut CompactOptions;
    pub(crate) fn rocksdb_compactoptions_destroy(options: *mut CompactOptions);
    pub(crate) fn rocksdb_compactoptions_set_bottommost_level_compaction(
        options: *mut CompactOptions,
        value: c_uchar,
    );
    pub(crate) fn rocksdb_compact_range_cf_opt(
        db: *mut Db,
        family: *mut ColumnFamily,
        options: *mut CompactOptions,
        start: *const c_char,
        start_len: usize,
        limit: *const c_char,
        limit_len: usize,
    );

    pub(crate) fn rocksdb_delete_file_in_range_cf(
        db: *mut Db,
        family: *mut ColumnFamily,
        start: *const c_char,
        start_len: usize,
        limit: *const c_char,
        limit_len: usize,
        error: *mut *mut c_char,
    );
    pub(crate) fn rocksdb_ingest_external_file_cf(
        db: *mut Db,
        family: *mut ColumnFamily,
        files: *const *const c_char,
        count: usize,
        options: *const IngestOptions,
        error: *mut *mut c_char,
    );
    pub(crate) fn rocksdb_ingestexternalfileoptions_set_move_files(
        options: *mut IngestOptions,
        on: c_uchar,
    );
    pub(crate) fn rocksdb_ingestexternalfileoptions_set_snapshot_consistency(
        options: *mut IngestOptions,
        on: c_uchar,
    );
    pub(crate) fn rocksdb_ingestexternalfileoptions_set_allow_global_seqno(
        options: *mut IngestOptions,
        on: c_uchar,
    );
    pub(crate) fn rocksdb_ingestexternalfileoptions_set_allow_blocking_flush(
        options: *mut IngestOptions,
        on: c_uchar,
    );
    pub(crate) fn rocksdb_ingestexternalfileoptions_set_ingest_behind(
        options: *mut IngestOptions,
        on: c_uchar,
    );

    pub(crate) fn rocksdb_sstfilewriter_create(
        env: *const EnvOptions,
        options: *const Options,
    ) -> *mut SstFileWriter;
    pub(crate) fn rocksdb_sstfilewriter_destroy(writer: *mut SstFileWriter);
    pub(crate) fn rocksdb_sstfilewriter_open(
        writer: *mut SstFileWriter,
        path: *const c_char,
        error: *mut *mut c_char,
    );
    pub(crate) fn rocksdb_sstfilewriter_put(
        writer: *mut SstFileWriter,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
        error: *mut *mut c_char,
    );
    pub(crate) fn rocksdb_sstfilewriter_finish(writer: *mut SstFileWriter, error: *mut *mut c_char);
}

/// What only RocksDB 11 has.
#[cfg(feature = "latest")]
pub(crate) mod latest {
    use super::{Checkpoint, ColumnFamily, Db, Options, c_char, c_uchar};

    handles! { ImportOptions, ExportMetadata }

    unsafe extern "C" {
        pub(crate) fn rocksdb_verify_checksum(db: *mut Db, error: *mut *mut c_char);
        pub(crate) fn rocksdb_checkpoint_export_column_family(
            checkpoint: *mut Checkpoint,
            family: *mut ColumnFamily,
            dir: *const c_char,
            error: *mut *mut c_char,
        ) -> *mut ExportMetadata;
        pub(crate) fn rocksdb_export_import_files_metadata_destroy(metadata: *mut ExportMetadata);
        pub(crate) fn rocksdb_import_column_family_options_create() -> *mut ImportOptions;
        pub(crate) fn rocksdb_import_column_family_options_set_move_files(
            options: *mut ImportOptions,
            on: c_uchar,
        );
        pub(crate) fn rocksdb_import_column_family_options_destroy(options: *mut ImportOptions);
        pub(crate) fn rocksdb_create_column_family_with_import(
            db: *mut Db,
            options: *mut Options,
            name: *const c_char,
            import: *mut ImportOptions,
            metadata: *mut ExportMetadata,
            error: *mut *mut c_char,
        ) -> *mut ColumnFamily;
    }
}
