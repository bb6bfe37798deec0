use proptest::prelude::*;

use super::*;

fn key<K: KeyCodec>(key: K::Ref<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    K::encode(key, &mut bytes);
    bytes
}

fn value<V: ValueCodec>(value: &V::Borrowed) -> Vec<u8> {
    let mut bytes = Vec::new();
    V::encode(value, &mut bytes).unwrap();
    bytes
}

proptest! {
    #[test]
    fn keys_come_back_and_sort_as_their_bytes_do(
        a in any::<(i16, String)>(),
        b in any::<(i16, String)>(),
        numbers in any::<(u128, u128, i64, i64)>(),
    ) {
        type Pair = (BigEndian<i16>, Utf8);
        let (encoded_a, encoded_b) = (key::<Pair>((a.0, &a.1)), key::<Pair>((b.0, &b.1)));
        prop_assert_eq!(a.cmp(&b), encoded_a.cmp(&encoded_b));
        prop_assert_eq!(Pair::decode(&encoded_a).unwrap(), a);
        let (x, y, i, j) = numbers;
        prop_assert_eq!(x.cmp(&y), key::<BigEndian<u128>>(x).cmp(&key::<BigEndian<u128>>(y)));
        prop_assert_eq!(i.cmp(&j), key::<BigEndian<i64>>(i).cmp(&key::<BigEndian<i64>>(j)));
        prop_assert_eq!(<BigEndian<i64> as KeyCodec>::decode(&key::<BigEndian<i64>>(i)).unwrap(), i);
    }
}

#[test]
fn integers_have_the_bytes_that_other_programs_expect() {
    assert_eq!(key::<BigEndian<u32>>(0x0102_0304), [1, 2, 3, 4]);
    assert_eq!(key::<BigEndian<i8>>(-1), [0x7f]);
    assert_eq!(key::<BigEndian<i8>>(0), [0x80]);
    assert_eq!(value::<BigEndian<u16>>(&7), [0, 7]);
    assert_eq!(value::<()>(&()), b"");
}

#[test]
fn bytes_that_stand_for_nothing_are_refused() {
    let message = |error: CodecError| error.to_string();
    let of_number = <BigEndian<u32> as KeyCodec>::decode(&[1, 2, 3]).map_err(message);
    assert_eq!(of_number, Err("3 bytes, expected 4".to_owned()));
    let of_pair = <(BigEndian<u16>, Bytes)>::decode(&[1]).map_err(message);
    assert_eq!(of_pair, Err("1 bytes, expected 2 or more".to_owned()));
    assert!(<Utf8 as ValueCodec>::decode(b"\xff").is_err());
    assert!(<() as ValueCodec>::decode(b"x").is_err());
}

#[cfg(feature = "postcard")]
#[test]
fn what_stands_behind_a_postcard_is_refused() {
    assert_eq!(Postcard::<u32>::decode(&[7]).unwrap(), 7);
    let error = Postcard::<u32>::decode(&[7, 8]).unwrap_err();
    assert_eq!(error.to_string(), "1 bytes behind the value");
}

#[cfg(feature = "prost")]
#[test]
fn a_torn_message_is_refused_with_its_cause() {
    let error = Protobuf::<String>::decode(b"\x0a\x04An").unwrap_err();
    let error = error.into_error(ErrorKind::Corruption);
    assert!(error.is_corruption() && std::error::Error::source(&error).is_some(), "{error}");
}
