use std::path::Path;
use std::sync::Arc;

use partita::io::{FileSystem, ManualScheduler, MemoryFileSystem};
use partita_store::StoreBuilder;
use partita_store::codec::{BigEndian, Postcard, Protobuf, Utf8};

/// What an order is of.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Order {
    #[prost(string, tag = "1")]
    pub(crate) article: String,
    #[prost(uint64, tag = "2")]
    pub(crate) count: u64,
}

partita_store::schema! {
    /// Tables of every kind.
    pub(crate) struct Shop {
        pub(crate) users: Table<Utf8, Postcard<(u32, Vec<String>)>> = "users",
        pub(crate) orders: Table<(BigEndian<u32>, BigEndian<u64>), Protobuf<Order>> = "orders",
        pub(crate) stock: Table<Utf8, BigEndian<i64>> = "stock",
        pub(crate) open: Table<Utf8, ()> = "open",
    }
}

pub(crate) const DIR: &str = "/data/shop.db";

pub(crate) fn disk() -> Arc<MemoryFileSystem> {
    Arc::new(MemoryFileSystem::new())
}

/// Background work is done by who waits for it.
pub(crate) fn builder(disk: &Arc<MemoryFileSystem>) -> StoreBuilder {
    let disk: Arc<dyn FileSystem> = Arc::clone(disk) as _;
    let scheduler = Arc::new(ManualScheduler::in_order());
    StoreBuilder::new(DIR).budget_bytes(8 << 20).file_system(disk).scheduler(scheduler)
}

pub(crate) fn shop() -> Shop {
    builder(&disk()).open().unwrap()
}

pub(crate) fn order(article: &str, count: u64) -> Order {
    Order { article: article.to_owned(), count }
}

/// Writes a file and the directories above it.
pub(crate) fn write(disk: &MemoryFileSystem, path: &str, text: &str) {
    let path = Path::new(path);
    disk.create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = disk.create(path).unwrap();
    file.append(text.as_bytes()).unwrap();
    file.sync().unwrap();
}
