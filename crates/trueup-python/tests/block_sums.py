"""BLAKE3 as its specification has it, because the standard library of Python lacks it: the checksums of blocks of a file."""

import base64
import struct

BLOCK = 65_536
IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
PERMUTATION = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
MIXED = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15), (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))
CHUNK_START, CHUNK_END, PARENT, ROOT = 1, 2, 4, 8
MASK = 0xFFFFFFFF


def rotated(word: int, bits: int) -> int:
    return (word >> bits | word << (32 - bits)) & MASK


def compress(chain: tuple[int, ...], block: bytes, counter: int, flags: int) -> tuple[int, ...]:
    """Return the chaining value of one block of at most 64 bytes."""
    words = struct.unpack("<16I", block.ljust(64, b"\0"))
    state = [*chain, *IV[:4], counter & MASK, counter >> 32, len(block), flags]
    for _ in range(7):
        for number, (a, b, c, d) in enumerate(MIXED):
            for word, right, left in ((words[2 * number], 16, 12), (words[2 * number + 1], 8, 7)):
                state[a] = (state[a] + state[b] + word) & MASK
                state[d] = rotated(state[d] ^ state[a], right)
                state[c] = (state[c] + state[d]) & MASK
                state[b] = rotated(state[b] ^ state[c], left)
        words = tuple(words[at] for at in PERMUTATION)
    return tuple(low ^ high for low, high in zip(state[:8], state[8:], strict=True))


def subtree(data: bytes, first_chunk: int, root: int) -> tuple[int, ...]:
    """Return the chaining value of a tree of chunks, whose left part is the largest power of two."""
    if len(data) > 1024:
        left = 1024
        while left * 2 < len(data):
            left *= 2
        values = subtree(data[:left], first_chunk, 0) + subtree(data[left:], first_chunk + left // 1024, 0)
        return compress(IV, struct.pack("<16I", *values), 0, PARENT | root)
    chain = IV
    blocks = [data[at : at + 64] for at in range(0, len(data), 64)] or [b""]
    for number, block in enumerate(blocks):
        is_last = number + 1 == len(blocks)
        flags = CHUNK_START * (number == 0) | (CHUNK_END | root) * is_last
        chain = compress(chain, block, first_chunk, flags)
    return chain


def blake3(data: bytes) -> bytes:
    return struct.pack("<8I", *subtree(data, 0, ROOT))


def block_sums(data: bytes) -> str:
    """Return the checksums of the blocks of a file, as a manifest has them."""
    sums = b"".join(blake3(data[at : at + BLOCK])[:16] for at in range(0, len(data), BLOCK))
    return base64.b64encode(sums).decode().rstrip("=")
