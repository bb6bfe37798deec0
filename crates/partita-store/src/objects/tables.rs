use super::keys::{BucketKey, DeletedKey, ObjectKey, OpenKeyKey, VolumeKey};
use super::rows::{BucketInfo, DeletedKeys, KeyInfo, VolumeInfo};
use super::transaction::TransactionRow;
use crate::codec::{Bytes, Protobuf, Utf8};

crate::schema! {
    /// The tables of Ozone's metadata manager, under its names. Those that [`ObjectStore`](super::ObjectStore) has no use for
    /// are there for who else opens the database, as they are.
    pub struct ObjectTables {
        /// Volumes: `/volume`.
        pub volumes: Table<VolumeKey, Protobuf<VolumeInfo>> = "volumeTable",
        /// Buckets, with what they hold: `/volume/bucket`.
        pub buckets: Table<BucketKey, Protobuf<BucketInfo>> = "bucketTable",
        /// Keys that were committed: `/volume/bucket/key`.
        pub keys: Table<ObjectKey, Protobuf<KeyInfo>> = "keyTable",
        /// Keys that are being written: `/volume/bucket/key/client`.
        pub open_keys: Table<OpenKeyKey, Protobuf<KeyInfo>> = "openKeyTable",
        /// Keys that were deleted or overwritten and whose blocks are still there: `/volume/bucket/key/object`.
        pub deleted: Table<DeletedKey, Protobuf<DeletedKeys>> = "deletedTable",
        /// The last transaction that is in the database: one row.
        pub transactions: Table<Utf8, TransactionRow> = "transactionInfoTable",
        /// Groups of users.
        pub users: Table<Bytes, Bytes> = "userTable",
        /// Delegation tokens.
        pub delegation_tokens: Table<Bytes, Bytes> = "dTokenTable",
        /// Secrets of S3 users.
        pub s3_secrets: Table<Bytes, Bytes> = "s3SecretTable",
        /// Access rights by path.
        pub prefixes: Table<Bytes, Bytes> = "prefixTable",
        /// The manager's own state.
        pub meta: Table<Bytes, Bytes> = "metaTable",
        /// Uploads in parts.
        pub multipart_info: Table<Bytes, Bytes> = "multipartInfoTable",
        /// Their parts.
        pub multipart_parts: Table<Bytes, Bytes> = "multipartPartsTable",
        /// Files of file-system buckets.
        pub files: Table<Bytes, Bytes> = "fileTable",
        /// Files that are being written.
        pub open_files: Table<Bytes, Bytes> = "openFileTable",
        /// Directories.
        pub directories: Table<Bytes, Bytes> = "directoryTable",
        /// Directories that were deleted.
        pub deleted_directories: Table<Bytes, Bytes> = "deletedDirectoryTable",
        /// Tenants.
        pub tenants: Table<Bytes, Bytes> = "tenantStateTable",
        /// Their access identities.
        pub tenant_access_ids: Table<Bytes, Bytes> = "tenantAccessIdTable",
        /// Access identities by principal.
        pub principals: Table<Bytes, Bytes> = "principalToAccessIdsTable",
        /// Snapshots of buckets.
        pub snapshots: Table<Bytes, Bytes> = "snapshotInfoTable",
        /// Keys that were renamed since a snapshot.
        pub snapshot_renamed: Table<Bytes, Bytes> = "snapshotRenamedTable",
        /// Compactions that snapshot differences are found by.
        pub compaction_log: Table<Bytes, Bytes> = "compactionLogTable",
        /// Rules of expiry.
        pub lifecycle_configurations: Table<Bytes, Bytes> = "lifecycleConfigurationTable",
        /// How far they were applied.
        pub lifecycle_scans: Table<Bytes, Bytes> = "lifecycleScanStateTable",
    }
}
