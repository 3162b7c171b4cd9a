#!/usr/bin/env python3
"""Makes tests/golden/gguf_quants.txt with the reference implementation, the Python package gguf.

    pip install gguf==0.19.0
    python3 tools/golden/gguf_quants.py > tests/golden/gguf_quants.txt

Each line: type, block bytes in hex, expanded fp32 words in hex (as little-endian bytes). Random bytes with a fixed
seed; the fp16 and fp32 words that are scales are random normal numbers, so that nothing is infinite or NaN.
"""
import numpy as np
from gguf import GGMLQuantizationType as T
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import dequantize

# Byte places of the fp16 words in a block.
HALVES = {
    T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q8_0: [0], T.Q2_K: [80, 82], T.Q3_K: [108],
    T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208], T.MXFP4: [], T.F16: [0], T.BF16: [], T.F32: [],
}
BLOCKS = {T.F16: 64, T.BF16: 64, T.F32: 8}


def main():
    rng = np.random.default_rng(20240817)
    print("# made by tools/golden/gguf_quants.py; type, block bytes, fp32 bytes")
    for kind, places in HALVES.items():
        size = GGML_QUANT_SIZES[kind][1]
        blocks = rng.integers(0, 256, (BLOCKS.get(kind, 2), size), dtype=np.uint8)
        for place in places:
            halves = rng.standard_normal(len(blocks)).astype(np.float16)
            blocks[:, place : place + 2] = halves.view(np.uint8).reshape(-1, 2)
        if kind == T.MXFP4:
            blocks[:, 0] = rng.integers(100, 140, len(blocks))
            blocks[0, 0] = 1  # smallest exponents take another path
        if kind == T.BF16:
            blocks[:, 1] = blocks[:, 1] & 0xBF  # no infinity, no NaN
        if kind == T.F32:
            blocks = rng.standard_normal(len(blocks)).astype(np.float32).view(np.uint8).reshape(-1, 4)
        values = dequantize(blocks.reshape(-1), kind).astype(np.float32)
        print(kind.name, blocks.tobytes().hex(), values.tobytes().hex())


if __name__ == "__main__":
    main()
