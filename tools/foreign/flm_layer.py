#!/usr/bin/env python3
"""One token through one transformer layer of Qwen3-0.6B by FastFlowLM's layer.xclbin, against plain fp64.

  tools/foreign/flm_layer.py LAYER.XCLBIN STREAM --length L [--repeat R] [--nearest] [--seed S] [-- OPTION...]

The streams are those that 1bit-MONSTER took from FastFlowLM (engine/npu/fused_insts/layer_L*.bin); L, of the file name,
is the number of tokens including this one. Weights, norms and the cache of the tokens before are random. With --repeat the
layer's result goes through it again, without a new configuration, each time over the same place of the cache. The
arguments, read off the stream, the configuration and runs with marked data:

  0  hidden state, 1024 bf16, in and out
  1  weights as Q4NX tiles in the order of use: query, key, value, output, up and gate by turns of 512 rows, down. A step is
     512 rows, two times 32 for each of eight shim channels (columns 0, 1, 6, 7); a channel gets for each 256 columns the
     tiles of its first and of its second 32 rows
  2  weights of the norms before attention and before the feed-forward part, 1024 bf16 each
  3  64 cosines and 64 sines of the position, weights of the query and the key norm, 128 each, bf16
  4  cache: keys of heads 0-3 and 4-7, values of heads 0-3 and 4-7, 4 MiB each, [token][4][128] bf16

Printed: relative L2 distances of the new hidden state, of what the layer adds to it, and of the key and value written.
The products keep sums of 32 in bf16, rounded down (crRnd 0, a byte in the data of each core), and add a minimum's share of
opposite sign, so that about 1 % is what these formats give. With --nearest a stream of ours writes 12 to those bytes
before, save in the cores that make the scores, whose exponential takes an index apart by shifts that must round down. Exit
code 0: the hidden state is within 5 %, key and value within 3 %, for each run.
"""
import argparse
import pathlib
import sys

import numpy

import array_stream
import floats
import q4nx

HIDDEN, HEADS, KV_HEADS, HEAD, INNER = 1024, 16, 8, 128, 3072
PART, EPSILON = 0x400000, 1e-6
# Columns, rows and address of the byte that the programs load into crRnd.
ROUNDING, NEAREST = [((0, 1, 6, 7), (2, 3, 4, 5), 0x3CA3), ((2,), (2,), 0x2022), ((2,), (3,), 0x3300), ((3, 4), (3, 5), 0x2522), ((5,), (2,), 0x2484)], 12


def bf16(values):
    return floats.to_bf16_even(numpy.asarray(values, numpy.float32))


def plain(bits):
    return floats.bf16_bits_to_float(bits).astype(numpy.float64)


def in_order(tiles):
    """Tiles [row/32][column/256] as the eight channels consume them."""
    rows, columns = tiles.shape[:2]
    return tiles.reshape(rows // 16, 8, 2, columns, q4nx.BYTES).swapaxes(2, 3).reshape(-1)


def rms_norm(values, weights):
    return values / numpy.sqrt((values**2).mean(axis=-1, keepdims=True) + EPSILON) * weights


def rotate(values, cosines, sines):
    low, high = values[..., :HEAD // 2], values[..., HEAD // 2:]
    return numpy.concatenate([low * cosines - high * sines, high * cosines + low * sines], axis=-1)


class Layer:
    """Random weights, the cache, and the layer in fp64 with the values that the array gets."""

    def __init__(self, random, length):
        shapes = {"query": (2048, 1024), "key": (1024, 1024), "value": (1024, 1024), "output": (1024, 2048),
                  "up": (INNER, 1024), "gate": (INNER, 1024), "down": (1024, INNER)}
        packed = {name: q4nx.quantise(random.standard_normal(shape).astype(numpy.float32) / shape[1]**0.5)
                  for name, shape in shapes.items()}
        self.tiles = {name: tiles for name, (tiles, _) in packed.items()}
        self.weights = {name: values for name, (_, values) in packed.items()}
        self.hidden = bf16(random.standard_normal(HIDDEN))
        self.norms = bf16(1 + 0.2 * random.standard_normal((2, HIDDEN)))
        angles = (length - 1) * 1e6**(-numpy.arange(HEAD // 2) / (HEAD // 2))
        self.rotation = bf16([numpy.cos(angles), numpy.sin(angles)])
        self.head_norms = bf16(1 + 0.2 * random.standard_normal((2, HEAD)))
        self.past = bf16(random.standard_normal((2, length - 1, KV_HEADS, HEAD)))

    def stream_weights(self):
        by_turns = [numpy.stack([self.tiles[name].reshape(6, 16, 4, q4nx.BYTES) for name in ("up", "gate")], axis=1)]
        parts = [self.tiles["query"], self.tiles["key"], self.tiles["value"], self.tiles["output"],
                 by_turns[0].reshape(192, 4, q4nx.BYTES), self.tiles["down"]]
        return numpy.concatenate([in_order(part) for part in parts])

    def cache(self):
        parts = numpy.zeros((2, 2, PART // 2), numpy.uint16)
        for kind in range(2):
            for half in range(2):
                used = self.past[kind][:, 4 * half:4 * half + 4].reshape(-1)
                parts[kind, half, :used.size] = used
        return parts

    def run(self, x):
        """New hidden state, key and value of this token."""
        w = self.weights
        h = rms_norm(x, plain(self.norms[0]))
        cosines, sines = plain(self.rotation)
        query = rotate(rms_norm((w["query"] @ h).reshape(HEADS, HEAD), plain(self.head_norms[0])), cosines, sines)
        key = rotate(rms_norm((w["key"] @ h).reshape(KV_HEADS, HEAD), plain(self.head_norms[1])), cosines, sines)
        value = (w["value"] @ h).reshape(KV_HEADS, HEAD)
        keys, values = (numpy.repeat(numpy.concatenate([plain(past), now[None]]), HEADS // KV_HEADS, axis=1)
                        for past, now in zip(self.past, (key, value)))
        scores = numpy.exp(numpy.einsum("hd,phd->hp", query, keys) / HEAD**0.5)
        mixed = numpy.einsum("hp,phd->hd", scores / scores.sum(axis=-1, keepdims=True), values)
        x = x + w["output"] @ mixed.reshape(-1)
        h = rms_norm(x, plain(self.norms[1]))
        gate = w["gate"] @ h
        return x + w["down"] @ (gate / (1 + numpy.exp(-gate)) * (w["up"] @ h)), key, value


def nearest_stream():
    stream = array_stream.Stream()
    for columns, rows, address in ROUNDING:
        for column in columns:
            for row in rows:
                stream.write_byte(array_stream.tile(column, row) + address, NEAREST)
    return stream.bytes()


def distance(got, want):
    return numpy.linalg.norm(got - want) / numpy.linalg.norm(want)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=pathlib.Path)
    parser.add_argument("stream", type=pathlib.Path)
    parser.add_argument("--length", type=int, required=True)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--nearest", action="store_true", help="round to nearest even instead of down")
    parser.add_argument("--seed", type=int, default=1)
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    args = parser.parse_args(arguments[:split])
    if not 1 <= args.length <= PART // 1024:
        parser.error(f"--length {args.length}: expected 1 to {PART // 1024}")
    layer = Layer(numpy.random.default_rng(args.seed), args.length)
    auxiliary = numpy.concatenate([layer.rotation.reshape(-1), layer.head_norms.reshape(-1)])
    cache = layer.cache()
    inputs = {0: layer.hidden, 1: layer.stream_weights(), 2: layer.norms, 3: auxiliary, 4: cache}
    streams = [nearest_stream()] * args.nearest + [args.stream.read_bytes()] * args.repeat
    report, out = array_stream.emulate(args.config, streams,
                                       {number: data.tobytes() for number, data in inputs.items()},
                                       {0: 2 * HIDDEN, 4: cache.nbytes}, arguments[split + 1:])
    run = report["runs"][-1]
    print(f"length {args.length}, {args.repeat} runs, end {run['end']}, {len(run['cores'])} cores, {run['cycles']} cycles modelled")
    if "message" in run:
        print(run["message"])
    hidden = before = plain(layer.hidden)
    for _ in range(args.repeat):
        hidden, key, value = layer.run(hidden)
    got = plain(numpy.frombuffer(out[0], numpy.uint16))
    after = numpy.frombuffer(out[4], numpy.uint16).reshape(2, 2, PART // 1024, 4, HEAD)
    got_key, got_value = (plain(part[:, args.length - 1].reshape(KV_HEADS, HEAD)) for part in after)
    untouched = after.copy()
    untouched[:, :, args.length - 1] = 0
    kept = bool((untouched.reshape(-1) == cache.reshape(-1)).all())
    found = {"hidden state": distance(got, hidden), "what was added": distance(got - before, hidden - before),
             "key": distance(got_key, key), "value": distance(got_value, value)}
    print("relative L2 distance: " + ", ".join(f"{name} {far:.2e}" for name, far in found.items()) +
          f"; rest of the cache {'unchanged' if kept else 'CHANGED'}")
    near = found["hidden state"] < 0.05 * args.repeat and max(found["key"], found["value"]) < 0.03 * args.repeat
    return 0 if run["end"] == "done" and near and kept else 1


if __name__ == "__main__":
    sys.exit(main())
