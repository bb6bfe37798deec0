//! What is served: the paths, metrics under load, health.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use partita::db::FamilyConfig;
use partita::io::{CallKind, Fault, FaultFileSystem, FileSystem, MemoryFileSystem};
use partita_store::codec::{BigEndian, Utf8};
use partita_store::{Schema as _, StoreBuilder};
use partita_testkit::prometheus::Exposition;
use partita_watch::{Kind, Limits, METRICS, Server, Watched};

use crate::client::{Answer, connect, database, database_on, get, metrics, send, serve, until};

#[test]
fn each_path_has_its_answer_and_says_how_long_it_is() {
    let watched = Arc::new(Watched::new());
    let server = serve(&watched, Limits::default());
    let address = server.address();
    for (path, status, content_type) in [
        ("/", 200, "text/html; charset=utf-8"),
        ("/metrics", 200, "text/plain; version=0.0.4; charset=utf-8"),
        ("/metrics?name=x", 200, "text/plain; version=0.0.4; charset=utf-8"),
        ("/health", 200, "text/plain; charset=utf-8"),
        ("/metrics/", 404, "text/plain; charset=utf-8"),
        ("/../../etc/passwd", 404, "text/plain; charset=utf-8"),
    ] {
        let answer = get(address, path);
        assert_eq!((answer.status, answer.header("Content-Type")), (status, Some(content_type)));
        let length = answer.body.len().to_string();
        assert_eq!(answer.header("Content-Length"), Some(&*length), "{path}");
        assert_eq!(answer.header("Cache-Control"), Some("no-store"), "{path}");
        assert_eq!(answer.header("Content-Security-Policy").is_some(), path == "/");
    }
    let head = send(address, b"HEAD /health HTTP/1.0\r\n\r\n").unwrap();
    assert_eq!((head.header("Content-Length"), &*head.body), (Some("3"), ""));
    let post = send(address, b"POST /metrics HTTP/1.0\r\nContent-Length: 1\r\n\r\nx").unwrap();
    assert_eq!((post.status, post.header("Allow")), (405, Some("GET, HEAD")));
    let accept =
        "GET /metrics HTTP/1.0\r\nAccept: application/openmetrics-text;version=1.0.0\r\n\r\n";
    let open = send(address, accept.as_bytes()).unwrap();
    assert!(open.header("Content-Type").unwrap().starts_with("application/openmetrics-text"));
    assert!(open.body.ends_with("# EOF\n"), "{}", open.body);
}

#[test]
fn metrics_are_right_to_the_letter_while_a_database_is_written_and_counters_never_fall() {
    let db = database();
    let family = db.create_family("odd \"name\"\\\n", FamilyConfig::default()).unwrap();
    let watched = Arc::new(Watched::new());
    let _shown = watched.show(&db);
    let server = serve(&watched, Limits::default());
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 0..2u64 {
            let (db, family, is_over) = (&db, &family, &is_over);
            scope.spawn(move || {
                for number in 0u64.. {
                    let key = (number * 2 + writer).to_be_bytes();
                    db.put_cf(family, &key, &[7; 100]).unwrap();
                    assert!(db.get_cf(family, &key).unwrap().is_some());
                    if number % 500 == 499 {
                        db.flush_cf(family).unwrap();
                    }
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        let scraped = scope.spawn(|| {
            let mut last = metrics(server.address());
            for _ in 0..30 {
                thread::sleep(Duration::from_millis(10));
                let now = metrics(server.address());
                now.check_after(&last).unwrap();
                last = now;
            }
            last
        });
        let last = scraped.join();
        is_over.store(true, Ordering::Relaxed);
        let last = last.unwrap();
        assert!(last.sum("partita_write_keys_total") > 0.0);
        let families = last.metrics["partita_memtable_bytes"].labels("family");
        assert_eq!(families, ["default", "odd \"name\"\\\n"]);
    });
    let keys = db.stats().writes.keys as f64;
    until(|| metrics(server.address()).value("partita_write_keys_total", &[]) == Some(keys));
    let last = metrics(server.address());
    assert!(last.metrics.keys().all(|name| METRICS.iter().any(|metric| metric.name() == name)));
}

partita_store::schema! {
    /// A table.
    struct Shop {
        /// Names by number.
        users: Table<BigEndian<u32>, Utf8> = "users",
    }
}

#[test]
fn every_metric_that_is_declared_is_served_of_a_store_whose_operations_are_timed() {
    let disk = Arc::new(MemoryFileSystem::new());
    let shop: Shop = StoreBuilder::new("/shop").file_system(disk).open().unwrap();
    let watched = Arc::new(Watched::new());
    let shown = watched.show_store(shop.store());
    let server = serve(&watched, Limits::default());
    let _snapshot = shop.store().db().snapshot();
    let timer = watched.timer("sale");
    let mut last = metrics(server.address());
    for round in 1..=5u32 {
        for user in 0..100 {
            shop.users.put(user, "Anne").unwrap();
            timer.record(Duration::from_micros(3));
        }
        shop.store().flush().unwrap();
        for user in 0..100 {
            assert_eq!(shop.users.get(user).unwrap().as_deref(), Some("Anne"));
        }
        assert_eq!(shop.users.scan().start().unwrap().count(), 100);
        let timed = ("partita_operation_seconds_count", &[("operation", "sale")]);
        until(|| metrics(server.address()).value(timed.0, timed.1) == Some(f64::from(round * 100)));
        let now = metrics(server.address());
        now.check_after(&last).unwrap();
        last = now;
    }
    let of_table = |name, more: (&str, &str)| last.value(name, &[("table", "users"), more]);
    assert_eq!(of_table("partita_store_reads_total", ("outcome", "found")), Some(500.0));
    assert_eq!(of_table("partita_store_changes_total", ("kind", "put")), Some(500.0));
    assert!(of_table("partita_store_block_misses_total", ("role", "data")) > Some(0.0));
    let fast = [("operation", "sale"), ("le", "5e-06")];
    assert_eq!(last.value("partita_operation_seconds_bucket", &fast), Some(500.0));
    for metric in METRICS.iter().filter(|metric| !metric.is_of_contents()) {
        let name = metric.name();
        let Some(found) = last.metrics.get(name) else {
            assert!(name.contains("_follow_"), "{name} is not there, and nobody is followed");
            continue;
        };
        let kind = match metric.kind() {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        assert_eq!((&*found.help, &*found.kind), (metric.help(), kind));
    }
    drop(shown);
    until(|| !metrics(server.address()).metrics.contains_key("partita_store_walks_total"));
    assert!(metrics(server.address()).sum("partita_operation_seconds_count") == 500.0);
}

#[test]
fn health_says_what_is_wrong_when_writes_are_refused() {
    let disk = FaultFileSystem::new(Arc::new(MemoryFileSystem::new()));
    let db = database_on(Arc::new(disk.clone()) as Arc<dyn FileSystem>);
    let watched = Arc::new(Watched::new());
    let shown = watched.show(&db);
    let server = serve(&watched, Limits::default());
    assert_eq!(get(server.address(), "/health").body, "ok\n");
    assert_eq!(metrics(server.address()).value("partita_healthy", &[]), Some(1.0));

    disk.set_rule(|call| {
        let is_log = call.path.extension().is_some_and(|extension| extension == "log");
        (call.kind == CallKind::Write && is_log)
            .then_some(Fault::Error(ErrorKind::PermissionDenied))
    });
    db.put(b"a", b"b").unwrap_err();
    let answer = get(server.address(), "/health");
    assert_eq!(answer.status, 503);
    assert!(answer.body.starts_with("writes are refused: ") && answer.body.contains(".log"));
    // What was gathered a moment ago may be shown once more.
    until(|| metrics(server.address()).value("partita_healthy", &[]) == Some(0.0));
    drop(shown);
    assert_eq!(
        get(server.address(), "/health").status,
        200,
        "nothing is shown, and nothing is wrong"
    );
}

#[test]
fn two_servers_can_answer_at_one_socket_one_after_the_other_and_who_waits_in_between_is_answered() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let watched = Arc::new(Watched::new());
    let first = Server::start(listener.try_clone().unwrap(), Arc::clone(&watched)).unwrap();
    let address = first.address();
    assert_eq!(get(address, "/health").status, 200);
    drop(first);
    let mut waiting = connect(address);
    std::io::Write::write_all(&mut waiting, b"GET /health HTTP/1.0\r\n\r\n").unwrap();
    let _second = Server::start(listener, watched).unwrap();
    assert_eq!(Answer::read(&waiting).unwrap().body, "ok\n");
}

#[test]
fn what_a_database_consists_of_is_told_without_counters_or_a_server() {
    let db = database();
    (0..100u8).for_each(|key| db.put(&[key], b"value").unwrap());
    db.flush().unwrap();
    let told = Exposition::parse(&partita_watch::describe(&db).unwrap()).unwrap();
    assert!(told.metrics.values().all(|metric| metric.kind == "gauge"));
    let level = [("family", "default"), ("level", "0")];
    assert_eq!(told.value("partita_level_entries", &level), Some(100.0));
    assert_eq!(told.value("partita_level_raw_value_bytes", &level), Some(500.0));
    let keys = told.value("rocksdb_estimate_num_keys", &[("family", "default")]);
    assert_eq!(keys, Some(100.0));
    assert!(
        told.value("partita_cache_bytes", &[("cache", "main"), ("role", "memtable")]).is_some()
    );
    assert_eq!(told.value("partita_healthy", &[]), None);
}
