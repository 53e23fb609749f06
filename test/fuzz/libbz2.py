"""Decodes archives with libbz2, the library inside bzip2, in the order of calls of `bzip2 -dc`.

Reads archives from standard input, each behind its length (4 bytes, little endian). Writes for each a letter, `k` where
`bzip2 -dc` ends well and `f` where it fails, then the length of its output, and the output, at most OUTPUT_MAX bytes.
"""
import ctypes
import struct
import sys

OUTPUT_MAX = 1 << 20
STREAM_END, SEQUENCE_OK, MAGIC = 4, 0, -5


class Stream(ctypes.Structure):
    _fields_ = [
        ("next_in", ctypes.c_void_p), ("avail_in", ctypes.c_uint),
        ("total_in_lo32", ctypes.c_uint), ("total_in_hi32", ctypes.c_uint),
        ("next_out", ctypes.c_void_p), ("avail_out", ctypes.c_uint),
        ("total_out_lo32", ctypes.c_uint), ("total_out_hi32", ctypes.c_uint),
        ("state", ctypes.c_void_p), ("bzalloc", ctypes.c_void_p), ("bzfree", ctypes.c_void_p), ("opaque", ctypes.c_void_p),
    ]


lib = ctypes.CDLL("libbz2.so.1.0")
room = ctypes.create_string_buffer(OUTPUT_MAX)


def decode(archive):
    source = ctypes.create_string_buffer(archive, len(archive))
    at, output, streams = 0, b"", 0
    while True:
        stream = Stream()
        if lib.BZ2_bzDecompressInit(ctypes.byref(stream), 0, 0) != SEQUENCE_OK:
            raise MemoryError
        stream.next_in = ctypes.addressof(source) + at
        stream.avail_in = len(archive) - at
        stream.next_out = ctypes.addressof(room)
        stream.avail_out = OUTPUT_MAX
        code = lib.BZ2_bzDecompress(ctypes.byref(stream))
        output += room.raw[: OUTPUT_MAX - stream.avail_out] if stream.avail_out < OUTPUT_MAX else b""
        left = stream.avail_in
        lib.BZ2_bzDecompressEnd(ctypes.byref(stream))
        streams += 1
        # Bytes behind the last stream that begin no other are ignored, with a warning.
        if code == MAGIC and streams > 1:
            return b"k", output
        # OK: it wants more input, and there is none.
        if code != STREAM_END:
            return b"f", output
        at = len(archive) - left
        if left == 0:
            return b"k", output


def read(count):
    data = sys.stdin.buffer.read(count)
    if len(data) < count:
        sys.exit(0)
    return data


while True:
    (length,) = struct.unpack("<I", read(4))
    verdict, output = decode(read(length))
    sys.stdout.buffer.write(verdict + struct.pack("<I", len(output)) + output)
    sys.stdout.buffer.flush()
