"""Rows as the Rust side sends them: key length u32 LE, value length u32 LE, key, value."""

import struct


def decode(data):
    rows, at = [], 0
    while at < len(data):
        key_len, value_len = struct.unpack_from("<II", data, at)
        at += 8
        rows.append((data[at : at + key_len], data[at + key_len : at + key_len + value_len]))
        at += key_len + value_len
    return rows


def encode(rows):
    return b"".join(b"".join((struct.pack("<II", len(k), len(v)), k, v)) for k, v in rows)
