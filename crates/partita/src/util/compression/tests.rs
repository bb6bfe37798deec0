use proptest::prelude::*;

use super::*;

const LIMIT: usize = 1 << 24;

fn text(len: usize) -> Vec<u8> {
    (0..len).map(|i| b"the quick brown fox "[i % 20] ^ (i / 700) as u8 & 3).collect()
}

/// Bytes without structure.
fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect()
}

fn round_trip(kind: CompressionType, framing: Framing, dictionary: Option<&[u8]>, block: &[u8]) {
    let mut compressor = Compressor::new(kind, DEFAULT_LEVEL, framing, dictionary).unwrap();
    let dictionary = dictionary.map(|bytes| Dictionary::new(bytes.to_vec()).unwrap());
    for _ in 0..2 {
        let stored = compressor.compress(block).unwrap();
        let back = decompress(kind, framing, dictionary.as_ref(), stored, LIMIT).unwrap();
        assert!(back == block, "{kind} {framing:?}, {} bytes", block.len());
    }
}

#[test]
fn every_type_gives_back_what_it_took_in_both_framings() {
    for kind in CompressionType::ALL {
        for framing in [Framing::Legacy, Framing::Varint] {
            for len in [1, 2, 100, 4096, 70_000, 300_000] {
                round_trip(kind, framing, None, &text(len));
                round_trip(kind, framing, None, &noise(len, 9));
                round_trip(kind, framing, None, &vec![0; len]);
            }
        }
    }
}

#[test]
fn dictionaries_serve_the_types_that_use_them() {
    let dictionary = noise(100_000, 3);
    // The block repeats the end of the dictionary, which is otherwise noise.
    let block = dictionary[98_000..].to_vec();
    for kind in CompressionType::ALL {
        round_trip(kind, Framing::Varint, Some(&dictionary), &block);
        let mut with =
            Compressor::new(kind, DEFAULT_LEVEL, Framing::Varint, Some(&dictionary)).unwrap();
        let stored_len = with.compress(&block).unwrap().len();
        assert_eq!(stored_len < 200, kind.uses_dictionary(), "{kind}: {stored_len}");
    }
}

#[test]
fn a_trained_dictionary_is_used_and_too_few_samples_give_none() {
    let samples: Vec<u8> = (0..4000u32)
        .flat_map(|i| {
            format!("{{\"user\":{},\"city\":\"Zurich\",\"active\":true}}\n", i * 7919 % 4001)
                .into_bytes()
        })
        .collect();
    let lens: Vec<usize> = samples.chunks(400).map(<[u8]>::len).collect();
    let trained = train_zstd_dictionary(&samples, &lens, 4096);
    assert!(trained.starts_with(&0xEC30_A437u32.to_le_bytes()), "{} bytes", trained.len());
    round_trip(CompressionType::Zstd, Framing::Varint, Some(&trained), &samples[..300]);
    assert!(train_zstd_dictionary(b"abc", &[3], 4096).is_empty());

    // zstd's magic without a dictionary behind it.
    let mut broken = trained[..8].to_vec();
    broken.extend_from_slice(&[0xff; 40]);
    let broken = Dictionary::new(broken).unwrap();
    let error = decompress(CompressionType::Zstd, Framing::Varint, Some(&broken), &[4, 1, 2, 3], 9);
    assert!(error.unwrap_err().is_corruption());
    assert!(Dictionary::new(Vec::new()).unwrap_err().is_corruption());
}

#[test]
fn zlib_distances_stay_within_the_window_that_rocksdb_inflates_with() {
    // A repetition 20,000 bytes apart can only be found with a window greater than 2^14.
    let mut block = noise(20_000, 5);
    block.extend_from_within(..);
    let mut compressor = Compressor::new(CompressionType::Zlib, 9, Framing::Legacy, None).unwrap();
    let stored = compressor.compress(&block).unwrap();
    assert!(stored.len() > 39_000);
    let mut inflate = flate2::Decompress::new_with_window_bits(false, 14);
    let mut back = Vec::with_capacity(block.len());
    // Small output pieces make the inflater use its window.
    while back.len() < block.len() {
        let mut piece = Vec::with_capacity(1000);
        let rest = &stored[inflate.total_in() as usize..];
        inflate.decompress_vec(rest, &mut piece, flate2::FlushDecompress::None).unwrap();
        back.extend_from_slice(&piece);
    }
    assert_eq!(back, block);
}

#[test]
fn levels_act_on_the_types_that_have_them() {
    let block: Vec<u8> =
        noise(30_000, 1).into_iter().map(|byte| byte & 15 | 64).chain(text(30_000)).collect();
    let len = |kind, level| {
        Compressor::new(kind, level, Framing::Varint, None).unwrap().compress(&block).unwrap().len()
    };
    for (kind, low, high) in [
        (CompressionType::Zlib, 1, 9),
        (CompressionType::Lz4hc, 1, 12),
        (CompressionType::Zstd, -20, 19),
    ] {
        assert!(len(kind, low) > len(kind, high), "{kind}");
    }
    for default in [-1, DEFAULT_LEVEL] {
        assert_eq!(len(CompressionType::Zlib, default), len(CompressionType::Zlib, 6));
    }
    assert!(len(CompressionType::Lz4, DEFAULT_LEVEL) > len(CompressionType::Lz4hc, DEFAULT_LEVEL));
}

#[test]
fn a_length_that_the_input_cannot_hold_is_refused_before_memory_is_taken() {
    let mut lying = vec![0xff, 0xff, 0xff, 0xff, 0x0f];
    lying.extend_from_slice(&[0; 15]);
    for kind in CompressionType::ALL.into_iter().skip(1) {
        let error = decompress(kind, Framing::Varint, None, &lying, usize::MAX).unwrap_err();
        assert!(error.is_corruption(), "{kind}: {error}");
        if kind != CompressionType::Bzip2 {
            assert!(error.message().contains("cannot"), "{kind}: {error}");
        }
    }
    let mut lz4 = vec![0xff; 8];
    lz4.extend_from_slice(&[0; 12]);
    let error = decompress(CompressionType::Lz4, Framing::Legacy, None, &lz4, usize::MAX);
    assert!(error.unwrap_err().message().contains("cannot"));
}

#[test]
fn the_limit_holds_for_every_type_and_framing() {
    let block = vec![b'x'; 50_000];
    for kind in CompressionType::ALL {
        for framing in [Framing::Legacy, Framing::Varint] {
            let mut compressor = Compressor::new(kind, DEFAULT_LEVEL, framing, None).unwrap();
            let stored = compressor.compress(&block).unwrap();
            assert!(decompress(kind, framing, None, stored, 50_000).is_ok(), "{kind} {framing:?}");
            assert!(decompress(kind, framing, None, stored, 49_999).is_err(), "{kind} {framing:?}");
        }
    }
}

#[test]
fn a_length_other_than_the_claimed_one_is_corruption() {
    let block = text(1000);
    for kind in CompressionType::ALL.into_iter().skip(1) {
        let mut compressor = Compressor::new(kind, DEFAULT_LEVEL, Framing::Varint, None).unwrap();
        let mut stored = compressor.compress(&block).unwrap().to_vec();
        assert_eq!(stored[..2], [0xe8, 0x07]);
        for claimed in [999u32, 1001] {
            stored[0] = claimed as u8 | 0x80;
            let error = decompress(kind, Framing::Varint, None, &stored, LIMIT).unwrap_err();
            assert!(error.is_corruption(), "{kind}, claiming {claimed}: {error}");
        }
    }
}

#[test]
fn unknown_types_are_refused_by_name() {
    assert!(CompressionType::from_code(6).unwrap_err().message().contains("XPRESS"));
    assert!(CompressionType::from_code(0x91).unwrap_err().message().contains("custom"));
    assert!(CompressionType::from_code(8).unwrap_err().is_corruption());
    assert!(CompressionType::from_code(0xff).unwrap_err().is_corruption());
    assert_eq!(CompressionType::from_code(0x40).unwrap(), CompressionType::Zstd);
    assert!(
        CompressionType::from_property_name("Xpress").unwrap_err().message().contains("XPRESS")
    );
    assert!(CompressionType::from_property_name("LZ5").unwrap_err().is_corruption());
    for kind in CompressionType::ALL {
        assert_eq!(CompressionType::from_code(kind.code()).unwrap(), kind);
        assert_eq!(CompressionType::from_property_name(kind.property_name()).unwrap(), kind);
        assert_eq!(CompressionType::from_options_name(kind.options_name()).unwrap(), kind);
        assert_eq!(kind.as_str().parse::<CompressionType>().unwrap(), kind);
    }
    assert!("LZ4".parse::<CompressionType>().is_err());
}

proptest! {
    #[test]
    fn no_bytes_make_decompression_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        kind in 0usize..7,
        legacy in any::<bool>(),
        dictionary in any::<bool>(),
    ) {
        let framing = if legacy { Framing::Legacy } else { Framing::Varint };
        let dictionary = dictionary.then(|| Dictionary::new(text(500)).unwrap());
        if let Ok(out) = decompress(CompressionType::ALL[kind], framing, dictionary.as_ref(), &bytes, 1 << 20) {
            prop_assert!(out.len() <= 1 << 20);
        }
    }

    #[test]
    fn damage_in_a_stored_block_never_panics_and_never_exceeds_the_claim(
        kind in 0usize..7, at in any::<prop::sample::Index>(), flip in 1u8.., legacy in any::<bool>(),
    ) {
        let kind = CompressionType::ALL[kind];
        let framing = if legacy { Framing::Legacy } else { Framing::Varint };
        let block = text(3000);
        let mut compressor = Compressor::new(kind, DEFAULT_LEVEL, framing, None).unwrap();
        let mut stored = compressor.compress(&block).unwrap().to_vec();
        let at = at.index(stored.len());
        stored[at] ^= flip;
        if let Ok(out) = decompress(kind, framing, None, &stored, 6000) {
            prop_assert!(out.len() <= 6000);
        }
    }
}
