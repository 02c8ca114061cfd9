"""Equal lines of whole numbers brought together by hashes, and counted."""

import numpy as np

from microagg.kernels.compiling import kernel


@kernel
def hash_lines(entries, words, hashes):
    """By so many words; each step maps the hash so far one to one, and stirs every bit."""
    for i in range(len(entries)):
        stirred = np.uint64(0x9E3779B97F4A7C15)
        for a in range(words):
            stirred ^= np.uint64(entries[i, a])
            stirred *= np.uint64(0xBF58476D1CE4E5B9)
            stirred ^= stirred >> np.uint64(32)
            stirred *= np.uint64(0x94D049BB133111EB)
            stirred ^= stirred >> np.uint64(29)
        hashes[i] = stirred


@kernel
def put_rows(keys, mask):
    """The row number in place of the last bits: sorted keys say where their entries stand."""
    for i in range(keys.size):
        keys[i] = (keys[i] & ~mask) | np.uint64(i)


@kernel
def collapse(entries, words, keys, mask, bits, firsts, weights, kind_of, counts):
    """Go through runs of one hash; within a run, compare with every kind seen there so far."""
    last = entries.shape[1] - 1
    kinds = 0
    run = 0
    for i in range(keys.size):
        row = keys[i] & mask
        if i > 0 and (keys[i] | mask) != (keys[i - 1] | mask):
            run = kinds
        kind = run
        while kind < kinds:
            known = firsts[kind]
            a = 0
            while a < words and entries[row, a] == entries[known, a]:
                a += 1
            if a == words:
                break
            kind += 1
        if kind == kinds:
            firsts[kind] = np.int64(row)
            weights[kind] = 0
            # In two steps: there is no shift by all 64 bits.
            counts[(keys[i] >> np.uint64(1)) >> np.uint64(63 - bits)] += 1
            kinds += 1
        kind_of[row] = kind
        weights[kind] += entries[row, last]
    return kinds
