use super::*;

use partita::ErrorKind;
use partita::io::MemoryFileSystem;
use partita::util::coding::put_length_prefixed;

const PATH: &str = "/trace";

fn record(code: u8, payload: &[u8]) -> Vec<u8> {
    let len = u32::try_from(payload.len()).unwrap();
    [&77_u64.to_le_bytes()[..], &[code], &len.to_le_bytes(), payload].concat()
}

fn header() -> Vec<u8> {
    let mut payload = Vec::new();
    put_length_prefixed(&mut payload, MAGIC);
    payload.extend_from_slice(&7_u32.to_le_bytes());
    payload.extend_from_slice(&8_u32.to_le_bytes());
    record(TYPE_BEGIN, &payload)
}

/// An access of family 3 to table 9 on level 2, up to what only gets have.
fn access(caller: u8) -> Vec<u8> {
    let mut payload = Vec::new();
    put_length_prefixed(&mut payload, b"block");
    payload.extend_from_slice(&4096_u64.to_le_bytes());
    payload.extend_from_slice(&3_u64.to_le_bytes());
    put_length_prefixed(&mut payload, b"family");
    payload.extend_from_slice(&2_u32.to_le_bytes());
    payload.extend_from_slice(&9_u64.to_le_bytes());
    payload.extend_from_slice(&[caller, 1, 0]);
    payload
}

fn get(key: &[u8]) -> Vec<u8> {
    let mut payload = access(CALLER_GET);
    payload.extend_from_slice(&5_u64.to_le_bytes());
    payload.push(0);
    put_length_prefixed(&mut payload, key);
    payload
}

fn get_of_data(key: &[u8]) -> Vec<u8> {
    let mut payload = get(key);
    payload.extend_from_slice(&48_u64.to_le_bytes());
    payload.extend_from_slice(&32_u64.to_le_bytes());
    payload.push(1);
    payload
}

fn open(bytes: &[u8]) -> Result<BlockTraceReader> {
    let fs = MemoryFileSystem::new();
    let mut file = fs.create(Path::new(PATH)).unwrap();
    file.append(bytes).unwrap();
    file.flush().unwrap();
    drop(file);
    BlockTraceReader::open(&fs, Path::new(PATH))
}

/// The callers and user keys of a trace.
fn read(bytes: &[u8]) -> Result<Vec<(u8, Option<Vec<u8>>)>> {
    let mut trace = open(bytes)?;
    let mut found = Vec::new();
    while let Some(access) = trace.next_access()? {
        let key = access.get.and_then(|get| get.user_key()).map(<[u8]>::to_vec);
        found.push((access.caller, key));
    }
    Ok(found)
}

#[test]
fn an_access_comes_with_all_its_fields() {
    let bytes = [header(), record(9, &get_of_data(b"key12345678"))].concat();
    let mut trace = open(&bytes).unwrap();
    assert_eq!(trace.release(), (7, 8));
    let access = trace.next_access().unwrap().unwrap();
    let in_block = Some(TracedData { bytes: 48, keys_in_block: 32, is_found: true });
    let get = TracedGet { id: 5, is_of_snapshot: false, key: b"key12345678", in_block };
    assert_eq!(
        access,
        BlockAccess {
            time_micros: 77,
            block: TracedBlock::Data,
            block_key: b"block",
            block_bytes: 4096,
            family: 3,
            family_name: b"family",
            level: 2,
            table: 9,
            caller: CALLER_GET,
            is_hit: true,
            no_insert: false,
            get: Some(get),
        }
    );
    assert_eq!(get.user_key(), Some(&b"key"[..]));
    assert_eq!(trace.next_access().unwrap(), None);
    assert_eq!(trace.torn_bytes(), 0);
}

#[test]
fn only_gets_have_a_key_and_only_their_data_blocks_what_was_found() {
    let mut multi_get = get(b"b12345678");
    multi_get[access(0).len() - 3] = CALLER_MULTI_GET;
    let bytes = [
        header(),
        record(9, &access(3)),
        record(7, &get(b"a12345678")),
        record(14, &multi_get),
        record(8, &get(b"")),
    ]
    .concat();
    let key = |key: &[u8]| Some(key.to_vec());
    assert_eq!(read(&bytes).unwrap(), [(3, None), (1, key(b"a")), (2, key(b"b")), (1, None)]);
}

#[test]
fn a_trace_that_ends_within_a_record_has_the_ones_before() {
    let whole = [header(), record(9, &get_of_data(b"key12345678"))].concat();
    let next = record(7, &get(b"key12345678"));
    for cut in 0..next.len() {
        let bytes = [&whole, &next[..cut]].concat();
        let mut trace = open(&bytes).unwrap();
        assert!(trace.next_access().unwrap().is_some());
        assert!(trace.next_access().unwrap().is_none(), "cut at {cut}");
        assert_eq!(trace.torn_bytes(), cut as u64);
    }
}

#[test]
fn records_that_lie_across_reads_come_whole() {
    let one = record(8, &get(&[b'k'; 1000]));
    let count = 3 * CHUNK_BYTES / one.len();
    let bytes = [header(), one.repeat(count)].concat();
    let found = read(&bytes).unwrap();
    assert_eq!(found.len(), count);
    assert!(found.iter().all(|(_, key)| key.as_ref().is_some_and(|key| key.len() == 992)));
}

#[test]
fn damage_is_an_error_that_names_the_place() {
    let at = header().len() as u64;
    let mut flag = access(3);
    *flag.last_mut().unwrap() = 7;
    let long = [access(3), vec![0]].concat();
    let of_get = get_of_data(b"key12345678");
    for (what, bad) in [
        ("type", record(6, &access(3))),
        ("type", record(0, &[])),
        ("a second header", header()),
        ("a flag", record(8, &flag)),
        ("a byte too many", record(8, &long)),
        ("a get without its data", record(9, &get(b"key12345678"))),
        ("a key longer than the record", record(9, &of_get[..of_get.len() - 20])),
        ("nothing in it", record(7, &[])),
        ("a length", [&[0; 8][..], &[9, 0xff, 0xff, 0xff, 0x7f]].concat()),
    ] {
        let bytes = [header(), record(7, &access(3)), bad].concat();
        let error = read(&bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{what}: {error}");
        let offset = at + record(7, &access(3)).len() as u64;
        assert_eq!(error.offset(), Some(offset), "{what}: {error}");
        assert_eq!(error.file(), Some(Path::new(PATH)), "{what}: {error}");
    }
}

#[test]
fn what_is_no_trace_of_blocks_is_refused_by_name() {
    let of_queries =
        record(TYPE_BEGIN, b"feedcafedeadbeef\tTrace Version: 0.2\tRocksDB Version: 7.8\t");
    let error = open(&of_queries).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
    assert!(error.to_string().contains("StartBlockCacheTrace"), "{error}");

    for text in [&b""[..], b"feedcafedeadbeef\n", b"a\nb\n"] {
        assert_eq!(open(text).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }

    let whole = header();
    for cut in START_BYTES..whole.len() {
        let error = open(&whole[..cut]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "cut at {cut}: {error}");
    }
    let long = record(TYPE_BEGIN, &[&whole[HEAD_BYTES..], &[0]].concat());
    assert_eq!(open(&long).unwrap_err().kind(), ErrorKind::Corruption);
}
