"""The contents of a GGUF file, and copies with different metadata, for tests."""
import math
import struct

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY = 8, 9


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n_bytes):
        self.at += n_bytes
        return self.data[self.at - n_bytes:self.at]

    def number(self, code):
        return struct.unpack("<" + code, self.take(struct.calcsize(code)))[0]

    def string(self):
        return self.take(self.number("Q"))

    def value(self, kind):
        """A string as bytes, an array of strings as a list, anything else as in the file."""
        if kind == STRING:
            return self.string()
        if kind != ARRAY:
            return self.take(SIZES[kind])
        item, n_items = self.number("I"), self.number("Q")
        if item == STRING:
            return [self.string() for _ in range(n_items)]
        return struct.pack("<IQ", item, n_items) + self.take(SIZES[item] * n_items)


def contents(data):
    """The metadata by key, each tensor's (shape, type, offset) by name, and the offset of the tensors' data."""
    reader = Reader(data)
    reader.take(8)
    n_tensors, n_keys = reader.number("Q"), reader.number("Q")
    metadata = {reader.string().decode(): reader.value(reader.number("I")) for _ in range(n_keys)}
    tensors = {}
    for _ in range(n_tensors):
        name = reader.string().decode()
        shape = [reader.number("Q") for _ in range(reader.number("I"))]
        tensors[name] = shape, reader.number("I"), reader.number("Q")
    return metadata, tensors, (reader.at + 31) // 32 * 32


def f32_tensors(data):
    """The numbers of each tensor of a file with only this type."""
    _, tensors, begin = contents(data)
    return {name: struct.unpack_from(f"<{math.prod(shape)}f", data, begin + offset)
            for name, (shape, _, offset) in tensors.items()}


def spelled(kind, value):
    if kind == STRING:
        return struct.pack("<Q", len(value)) + value
    if isinstance(value, list):
        return struct.pack("<IQ", STRING, len(value)) + b"".join(spelled(STRING, item) for item in value)
    return value


def with_metadata(data, edit, added=()):
    """The file's bytes after `edit(key, value)` has returned each new value; `added`: further (key, kind, value)."""
    reader = Reader(data)
    magic, n_tensors, n_keys = reader.take(8), reader.number("Q"), reader.number("Q")
    out = magic + struct.pack("<QQ", n_tensors, n_keys + len(added))
    for _ in range(n_keys):
        key, kind = reader.string(), reader.number("I")
        out += spelled(STRING, key) + struct.pack("<I", kind) + spelled(kind, edit(key.decode(), reader.value(kind)))
    for key, kind, value in added:
        out += spelled(STRING, key.encode()) + struct.pack("<I", kind) + spelled(kind, value)
    begin = reader.at
    for _ in range(n_tensors):
        reader.string()
        reader.take(8 * reader.number("I") + 4 + 8)
    out += data[begin:reader.at]
    aligned = (reader.at + 31) // 32 * 32
    return out + bytes(-len(out) % 32) + data[aligned:]
