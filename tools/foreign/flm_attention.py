#!/usr/bin/env python3
"""Causal attention of a prompt by FastFlowLM's attn.xclbin of Qwen3-0.6B, against plain fp64.

  tools/foreign/flm_attention.py ATTN.XCLBIN STREAM --length L [--seed S] [-- OPTION...]

The streams are those that 1bit-MONSTER took from FastFlowLM (engine/npu/fused_insts/mha_L*.bin, L of the file name, from 16
on); they fit the configuration of FastFlowLM 0.9.26 (commit 985bbd4 of ROCm/FastFlowLM), whose later versions take keys
and values through other channels. Arguments, read off the stream: 0 the result [token][16][128], 1 queries
[token][16][128], normalised and rotated, 2 the cache as in flm_layer.py; all bf16. Scores are scaled by 1/sqrt(128) on the
array; 16 tokens at a time, two heads for each column.

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


def attention(queries, keys, values):
    """[token][head][128] each, the heads of keys and values for HEADS/KV_HEADS queries."""
    keys, values = (numpy.repeat(part, HEADS // KV_HEADS, axis=1) for part in (keys, values))
    out = numpy.empty_like(queries)
    later = numpy.triu(numpy.ones((len(queries), len(queries)), bool), 1)
    for head in range(HEADS):
        scores = queries[:, head] @ keys[:, head].T / HEAD**0.5
        scores = numpy.exp(numpy.where(later, -numpy.inf, scores))
        out[:, head] = scores / scores.sum(axis=-1, keepdims=True) @ values[:, head]
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=pathlib.Path)
    parser.add_argument("stream", type=pathlib.Path)
    parser.add_argument("--length", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    args = parser.parse_args(arguments[:split])
    if args.length % 16 or not 16 <= args.length <= PART // 1024:
        parser.error(f"--length {args.length}: expected a multiple of 16 up to {PART // 1024}")
    random = numpy.random.default_rng(args.seed)
    queries, keys, values = (flm_layer.bf16(random.standard_normal((args.length, heads, HEAD)))
                             for heads in (HEADS, KV_HEADS, KV_HEADS))
    cache = numpy.zeros((2, 2, PART // 1024, 4, HEAD), numpy.uint16)
    for kind, part in enumerate((keys, values)):
        cache[kind, :, :args.length] = part.reshape(args.length, 2, 4, HEAD).swapaxes(0, 1)
    report, out = array_stream.emulate(args.config, [args.stream.read_bytes()], {1: queries.tobytes(), 2: cache.tobytes()},
                                       {0: queries.nbytes}, arguments[split + 1:])
    run = report["runs"][0]
    got = flm_layer.plain(numpy.frombuffer(out[0], numpy.uint16)).reshape(queries.shape)
    want = attention(*(flm_layer.plain(part) for part in (queries, keys, values)))
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
