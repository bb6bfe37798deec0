//! `partita serve`, and benchmarks with `--listen`: asked over HTTP while they run.

use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use partita::db::DbBuilder;
use partita::options::DbOptions;
use partita_testkit::golden;
use partita_testkit::prometheus::Exposition;

use crate::run::{command, fingerprint, partita};

/// Nobody waits longer than this, whatever has gone wrong.
const PATIENCE: Duration = Duration::from_secs(60);

/// A command that listens, and is ended with this.
struct Running {
    child: Child,
    address: SocketAddr,
}

impl Running {
    fn start(args: &[&str]) -> Self {
        let mut child = command(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut told = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        stderr.read_line(&mut told).unwrap();
        let address = told.trim_end().strip_prefix("partita: figures at http://");
        let address = address.and_then(|address| address.strip_suffix('/')).expect(&told);
        Self { child, address: address.parse().unwrap() }
    }

    /// The status and the body.
    fn get(&self, path: &str) -> (u16, String) {
        self.ask(path).unwrap()
    }

    fn ask(&self, path: &str) -> io::Result<(u16, String)> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or(ErrorKind::UnexpectedEof)?;
        Ok((head["HTTP/1.1 ".len()..][..3].parse().unwrap(), body.to_owned()))
    }

    fn metrics(&self) -> Exposition {
        let (status, text) = self.get("/metrics");
        assert_eq!(status, 200, "{text}");
        Exposition::parse(&text).unwrap()
    }

    /// Whether the command ends, soon.
    fn ends(&mut self) -> bool {
        (0..20).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            self.child.try_wait().unwrap().is_some()
        })
    }

    fn metrics_once(&self, is_so: impl Fn(&Exposition) -> bool) -> Exposition {
        let begun = Instant::now();
        loop {
            let metrics = self.metrics();
            if is_so(&metrics) {
                return metrics;
            }
            assert!(begun.elapsed() < PATIENCE, "it never came: {metrics:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_database_of_rocksdb_is_served_and_nothing_is_written_there() {
    let golden = golden::get("families-merge-ranges-wal");
    let before = fingerprint(&golden.path());
    let path = golden.path();
    let serve = Running::start(&["serve", path.to_str().unwrap(), "--listen", "127.0.0.1:0"]);
    let metrics = serve.metrics_once(|metrics| metrics.sum("partita_follow_catch_ups_total") > 0.0);
    let mut families = golden.families();
    families.sort_unstable();
    assert_eq!(metrics.metrics["partita_level_bytes"].labels("family"), families);
    assert_eq!(metrics.sum("partita_follow_failures_total"), 0.0);
    assert_eq!(serve.get("/health"), (200, "ok\n".to_owned()));
    let (status, page) = serve.get("/");
    assert!(status == 200 && page.starts_with("<!DOCTYPE html>"));
    drop(serve);
    assert_eq!(fingerprint(&golden.path()), before);
}

#[test]
fn what_the_owner_writes_is_seen_and_that_it_is_gone_is_told() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("db");
    let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    let db = DbBuilder::new(&dir).options(options).open().unwrap();
    db.put(b"a", b"b").unwrap();
    let serve = Running::start(&["serve", dir.to_str().unwrap(), "--listen", "127.0.0.1:0"]);
    assert_eq!(serve.metrics().sum("partita_last_sequence_number"), 1.0);
    db.put(b"a", b"c").unwrap();
    serve.metrics_once(|metrics| metrics.sum("partita_last_sequence_number") == 2.0);
    db.close().unwrap();
    drop(db);
    std::fs::remove_dir_all(&dir).unwrap();
    serve.metrics_once(|metrics| metrics.value("partita_healthy", &[]) == Some(0.0));
    let (status, why) = serve.get("/health");
    assert!(status == 503 && why.contains("cannot be followed"), "{why}");
}

#[test]
fn what_cannot_be_served_is_refused_in_words() {
    let golden = golden::get("wal-only");
    let path = golden.path();
    let dir = path.to_str().unwrap();
    let run = partita(["serve", dir, "--listen", "0.0.0.0:0"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--listen-anywhere"), "{}", run.stderr);
    let run = partita(["serve", &format!("{dir}/none")]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("none"), "{}", run.stderr);
    let run = partita(["bench", "objects", "--listen", "0.0.0.0:0", "--keys", "10"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--listen-anywhere"), "{}", run.stderr);
    assert_eq!(partita(["bench", "objects", "--listen-anywhere"]).code, 2);
}

/// Asks as long as a benchmark runs. Every question is answered, and each database's counters only grow.
///
/// Returns what was told of a database last.
fn watch(args: &[&str]) -> Exposition {
    let mut run = Running::start(args);
    let (mut shown, mut last) = (Exposition::default(), None::<Exposition>);
    loop {
        let health = run.ask("/health");
        let (Ok(health), Ok(metrics)) = (&health, run.ask("/metrics")) else {
            assert!(run.ends(), "no answer, and it goes on");
            break;
        };
        assert_eq!(*health, (200, "ok\n".to_owned()));
        assert_eq!(metrics.0, 200, "{}", metrics.1);
        let now = Exposition::parse(&metrics.1).unwrap();
        let is_shown = now.value("partita_databases", &[]) == Some(1.0);
        let uptime = now.sum("partita_uptime_seconds");
        if let Some(last) =
            last.filter(|last| is_shown && last.sum("partita_uptime_seconds") < uptime)
        {
            now.check_after(&last).unwrap();
        }
        last = is_shown.then_some(now);
        shown = last.clone().unwrap_or(shown);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(run.child.wait().unwrap().success());
    shown
}

#[test]
fn the_metadata_of_an_object_store_are_watched_while_they_are_loaded() {
    let load =
        "bench objects --keys 6k --budget 2MiB --open-keys 20 --rate 6k --layout full,partitioned";
    let args: Vec<&str> = load.split(' ').chain(["--listen", "127.0.0.1:0"]).collect();
    let last = watch(&args);
    assert!(last.value("partita_operation_seconds_count", &[("operation", "round")]) > Some(0.0));
    let found = [("table", "keyTable"), ("outcome", "found")];
    assert!(last.value("partita_store_reads_total", &found) > Some(0.0));
}

#[test]
fn entry_locations_are_watched_while_they_are_loaded_and_looked_up() {
    let home = tempfile::tempdir().unwrap();
    let small = "bench locations --budget 1MiB --layout partitioned --threads 1 --seconds 0.3 --warmup 0.1 --keys 50k \
                 --ledgers 10 --flush-entries 5k --dir";
    let dir = home.path().to_str().unwrap();
    let args: Vec<&str> =
        small.split_whitespace().chain([dir, "--listen", "127.0.0.1:0"]).collect();
    assert!(watch(&args).sum("partita_level_files") > 0.0);
}
