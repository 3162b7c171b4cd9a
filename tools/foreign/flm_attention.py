#!/usr/bin/env python3
"""Causal attention of a prompt by FastFlowLM's attn.xclbin of Qwen3-0.6B, against plain fp64.

  tools/foreign/flm_attention.py ATTN.XCLBIN [STREAM] --length L [--window N] [--nearest] [--seed S] [-- OPTION...]

The streams are those that 1bit-MONSTER took from FastFlowLM (engine/npu/fused_insts/mha_L*.bin, L of the file name, from 16
on); they fit the configuration of FastFlowLM 0.9.26 (commit 985bbd4 of ROCm/FastFlowLM), whose later versions take keys
and values through other channels. Arguments, read off the stream: 0 the result [token][16][128], 1 queries
[token][16][128], normalised and rotated, 2 the cache as in flm_layer.py; all bf16. Scores are scaled by 1/sqrt(128) on the
array; 16 tokens at a time, two heads for each column.

Without STREAM a stream of our own for the later versions, L a multiple of 128. Read off the program: four heads at a time, one
for two columns, of 128 tokens, 16 for each core; keys and values in pieces of 128 tokens through the shims of columns 3
and 7, each for two heads. Words of each core: 0x6200 the length, 0x3C00 where it starts, 0x9080 how many tokens back a
query sees; the byte at 0x3C24 is crRnd, which --nearest sets to 12.

Printed: the relative L2 distance, and the mean difference. Products are of bfp16 blocks rounded down, so that each
value is about 2^-7 too low, which does not average out over many tokens. Exit code 0: within 5 % of the size of the
values that are mixed.
"""
import argparse
import pathlib
import sys

import numpy

import array_stream
import flm_layer
from flm_layer import HEAD, HEADS, KV_HEADS, PART

PIECE, LENGTH, START, WINDOW, ROUNDING = 128, 0x6200, 0x3C00, 0x9080, 0x3C24


def attention(queries, keys, values, window):
    """[token][head][128] each, the heads of keys and values for HEADS/KV_HEADS queries."""
    keys, values = (numpy.repeat(part, HEADS // KV_HEADS, axis=1) for part in (keys, values))
    out = numpy.empty_like(queries)
    distance = numpy.subtract.outer(numpy.arange(len(queries)), numpy.arange(len(queries)))
    hidden = (distance < 0) | (distance >= window)
    for head in range(HEADS):
        scores = queries[:, head] @ keys[:, head].T / HEAD**0.5
        scores = numpy.exp(numpy.where(hidden, -numpy.inf, scores))
        out[:, head] = scores / scores.sum(axis=-1, keepdims=True) @ values[:, head]
    return out


def make_stream(length, window, nearest):
    stream = array_stream.Stream()
    for column in range(8):
        for row in range(2, 6):
            if nearest:
                stream.write_byte(array_stream.tile(column, row) + ROUNDING, flm_layer.NEAREST)
            for address, value in ((LENGTH, length), (START, 0), (WINDOW, window)):
                stream.write(array_stream.tile(column, row) + address, value)
    row_bytes = 2 * HEADS * HEAD
    for first_kv in range(0, KV_HEADS, 2):
        for token in range(0, length, PIECE):
            for column in range(8):
                head = first_kv * 2 + column // 2
                place = token * row_bytes + 2 * HEAD * head
                half = place + PIECE // 2 * row_bytes
                shape = ((HEAD // 2, 4), (0, row_bytes))
                size = PIECE // 2 * 2 * HEAD
                stream.transfer(column, array_stream.S2MM, 0, 0, 0, half if column % 2 else place, size, shape)
                if column % 2 == 0:
                    stream.transfer(column, array_stream.MM2S, 0, 1, 1, place, size, shape)
                    stream.transfer(column, array_stream.MM2S, 1, 2, 1, half, size, shape)
            for column in (3, 7):
                kv = first_kv + column // 4
                first = max(0, token - window)
                part = kv // 4 * PART + (first * 4 + kv % 4) * 2 * HEAD
                size = (token + PIECE - first) * 2 * HEAD
                for kind in range(2):
                    stream.transfer(column, array_stream.MM2S, kind, 3 + kind, 2, 2 * kind * PART + part, size,
                                    ((HEAD // 2, 4), (0, 4 * 2 * HEAD)))
            for column in range(8):
                stream.wait(column, array_stream.S2MM, 0)
                if column % 2 == 0 or column in (3, 7):
                    stream.wait(column, array_stream.MM2S, 0)
                    stream.wait(column, array_stream.MM2S, 1)
    return stream.bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=pathlib.Path)
    parser.add_argument("stream", type=pathlib.Path, nargs="?")
    parser.add_argument("--length", type=int, required=True)
    parser.add_argument("--window", type=int, default=1 << 20, help="without STREAM")
    parser.add_argument("--nearest", action="store_true", help="without STREAM: round to nearest even instead of down")
    parser.add_argument("--seed", type=int, default=1)
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    args = parser.parse_args(arguments[:split])
    step = 16 if args.stream else PIECE
    if args.length % step or not step <= args.length <= PART // 1024:
        parser.error(f"--length {args.length}: expected a multiple of {step} up to {PART // 1024}")
    if args.window % PIECE:
        parser.error(f"--window {args.window}: expected a multiple of {PIECE}")
    random = numpy.random.default_rng(args.seed)
    queries, keys, values = (flm_layer.bf16(random.standard_normal((args.length, heads, HEAD)))
                             for heads in (HEADS, KV_HEADS, KV_HEADS))
    cache = numpy.zeros((2, 2, PART // 1024, 4, HEAD), numpy.uint16)
    for kind, part in enumerate((keys, values)):
        cache[kind, :, :args.length] = part.reshape(args.length, 2, 4, HEAD).swapaxes(0, 1)
    stream = args.stream.read_bytes() if args.stream else make_stream(args.length, args.window, args.nearest)
    report, out = array_stream.emulate(args.config, [stream], {1: queries.tobytes(), 2: cache.tobytes()},
                                       {0: queries.nbytes}, arguments[split + 1:])
    run = report["runs"][0]
    got = flm_layer.plain(numpy.frombuffer(out[0], numpy.uint16)).reshape(queries.shape)
    want = attention(*(flm_layer.plain(part) for part in (queries, keys, values)), window=args.window)
    error = got - want
    of_values = float(numpy.sqrt((error**2).mean() / (flm_layer.plain(values)**2).mean()))
    print(f"length {args.length}, end {run['end']}, {len(run['cores'])} cores, {run['cycles']} cycles modelled")
    if "message" in run:
        print(run["message"])
    print(f"relative L2 distance {flm_layer.distance(got, want):.2e}, of the size of the values {of_values:.2e}, "
          f"mean difference {error.mean():.2e}")
    return 0 if run["end"] == "done" and of_values < 0.05 else 1


if __name__ == "__main__":
    sys.exit(main())
