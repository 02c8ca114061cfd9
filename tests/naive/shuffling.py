"""SipHash-2-4 of 16 bytes as its paper writes it, in Python's integers."""

_MASK = 2**64 - 1


def place(key, row, tie=0):
    """The number of a row, 0 to 2^63 - 1."""
    message = row.to_bytes(8, "little", signed=True) + tie.to_bytes(8, "little", signed=True)
    return siphash(key, message) >> 1


def siphash(key, message):
    low, high = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    names = b"somepseu", b"dorandom", b"lygenera", b"tedbytes"
    v = [
        half ^ int.from_bytes(name, "big")
        for half, name in zip((low, high) * 2, names, strict=True)
    ]
    padded = message + bytes(7 - len(message) % 8) + bytes([len(message) % 256])
    for start in range(0, len(padded), 8):
        word = int.from_bytes(padded[start : start + 8], "little")
        v[3] ^= word
        for _ in range(2):
            _round(v)
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(4):
        _round(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def _round(v):
    for one, two, turns in ((0, 1, 13), (2, 3, 16)):
        v[one] = (v[one] + v[two]) & _MASK
        v[two] = _turned(v[two], turns) ^ v[one]
    v[0] = _turned(v[0], 32)
    for one, two, turns in ((0, 3, 21), (2, 1, 17)):
        v[one] = (v[one] + v[two]) & _MASK
        v[two] = _turned(v[two], turns) ^ v[one]
    v[2] = _turned(v[2], 32)


def _turned(word, bits):
    return ((word << bits) | (word >> (64 - bits))) & _MASK
