#!/usr/bin/env python3
"""bf16 x bfp16 products of 1bit-MONSTER (bf16_*, ternary_*) with their own streams, against the format model.

  tools/foreign/bfp16_gemm.py CONFIG.XCLBIN STREAM [--seed S] [-- OPTION...]

C [128, N] = A [128, K] x B [K, N]; A and C in bf16, B in blocks of 8 along k with a common exponent (bfp16ebs8). B lies
in panels of 128 columns, in each 64 of k at a time: 8 pairs of 8 columns, for each 8 blocks of k, for each the two
72-byte pieces of 8 columns. The kernel turns A into blocks as well, keeps 128 x 128 sums in bf16 between pieces of
64 of k, and rounds down everywhere (crRnd 0).

Its blocks are 8 x 8. The DMA of the core stores A, and the mem tile reads C, in blocks of 2 x 8 in bf16_* (8 x 8 in
ternary_*), so that bf16_* multiplies permuted tiles; the permutation is undone here before and after. Expected: no
bit different. Also printed: the relative L2 distance to the product in fp64 of the values after their conversion to
blocks, and of those before it.
"""
import argparse
import json
import pathlib
import subprocess
import sys

import numpy

import array_stream
import floats

M, TILE_K, TILE_N, TILE_M = 128, 64, 128, 32


def arguments_of(stream):
    """Bytes read from arguments 0 and 1 and written to argument 2, from the stream itself, each once."""
    command = [array_stream.TEGULA, "inspect", "--json", "--depth", "2", stream]
    report = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    spans = [set(), set(), set()]
    for one in report["files"][0]["streams"][0]["transfers"]:
        spans[one["argument"]].add((one["offset"], one["bytes"]))
    return [sum(size for _, size in span) for span in spans]


def transfer_rows(config):
    """Rows of the blocks that the transfers of a core make of A."""
    command = [array_stream.TEGULA, "inspect", "--json", "--depth", "2", "--tile", "0,2", config]
    tile = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    core = [bd for bd in tile["files"][0]["arrays"][0]["tiles"][0]["bds"] if len(bd["dimensions"]) == 3]
    return core[0]["dimensions"][0]["wrap"] // 4


def reblock(matrix, rows, to_rows):
    """The matrix that reads as blocks of to_rows x 8 what was stored as blocks of rows x 8."""
    height, width = matrix.shape
    stored = matrix.reshape(height // rows, rows, width // 8, 8).transpose(0, 2, 1, 3).reshape(-1)
    return stored.reshape(height // to_rows, width // 8, to_rows, 8).transpose(0, 2, 1, 3).reshape(height, width)


def pack_b(mantissas, exponents):
    """mantissas [N, K/8, 8], exponents [N, K/8] in the order in which the array consumes them."""
    blocks = numpy.concatenate([exponents[..., None], mantissas.view(numpy.uint8)], axis=-1)
    n, k = blocks.shape[:2]
    return blocks.reshape(n // TILE_N, 8, 2, 8, k // 8, 8, 9).transpose(0, 4, 1, 5, 2, 3, 6)


def by_tiles(matrix, height, width, rows, to_rows):
    """reblock() of each tile of a matrix."""
    return numpy.block([[reblock(matrix[i:i + height, j:j + width], rows, to_rows)
                         for j in range(0, matrix.shape[1], width)] for i in range(0, matrix.shape[0], height)])


def model(a, b):
    """bf16 bits of C. a: fp32 [M, K]; b: mantissas, exponents."""
    total = numpy.zeros((M, b[0].shape[0]), numpy.float32)
    for k in range(0, a.shape[1], TILE_K):
        piece = slice(k // 8, (k + TILE_K) // 8)
        total = floats.block_macs(floats.to_bfp16(a[:, k:k + TILE_K], numpy.floor), (b[0][:, piece], b[1][:, piece]), total)
        total = floats.bf16_bits_to_float(floats.to_bf16_floor(total))
    return floats.to_bf16_floor(total)


def distance(got, want):
    return numpy.linalg.norm(got - want) / numpy.linalg.norm(want)


def check(config, stream, seed, options):
    """What came out, as a dictionary."""
    size_a, _, size_c = arguments_of(stream)
    k, n = size_a // 2 // M, size_c // 2 // M
    rows = transfer_rows(config)
    random = numpy.random.default_rng(seed)
    values = random.standard_normal((M, k)) * numpy.exp2(random.integers(-6, 7, (M, 1)))
    a_bits = floats.to_bf16_even(values.astype(numpy.float32))
    a, weights = floats.bf16_bits_to_float(a_bits), random.standard_normal((n, k)).astype(numpy.float32)
    b = floats.to_bfp16(weights, numpy.rint)
    inputs = {0: by_tiles(a_bits, TILE_M, TILE_K, 8, rows).tobytes(), 1: pack_b(*b).tobytes()}
    report, out = array_stream.emulate(config, [stream.read_bytes()], inputs, {2: size_c}, options)
    run = report["runs"][0]
    got = by_tiles(numpy.frombuffer(out[2], numpy.uint16).reshape(M, n), M, TILE_N, rows, 8)
    rounded = floats.bfp16_values(*floats.to_bfp16(a, numpy.floor))
    got_values = floats.bf16_bits_to_float(got).astype(numpy.float64)
    return {"shape": [M, k, n], "cores": len(run["cores"]), "block_rows": rows, "end": run["end"],
            "message": run.get("message", ""), "values": got.size, "wrong": int((got != model(a, b)).sum()),
            "to_blocks": float(distance(got_values, rounded @ floats.bfp16_values(*b).T)),
            "to_values": float(distance(got_values, a.astype(numpy.float64) @ weights.T)), "cycles": run["cycles"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=pathlib.Path)
    parser.add_argument("stream", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    args = parser.parse_args(arguments[:split])
    out = check(args.config, args.stream, args.seed, arguments[split + 1:])
    if args.json:
        print(json.dumps(out))
    else:
        print(f"{'x'.join(map(str, out['shape']))} on {out['cores']} cores, A moved in blocks of {out['block_rows']}x8, "
              f"end {out['end']} {out['message']}")
        print(f"{out['wrong']} of {out['values']} values differ from the format model, {out['cycles']} cycles modelled")
        print(f"relative L2 distance to the product of the blocks {out['to_blocks']:.2e}, of the values {out['to_values']:.2e}")
    return 0 if out["end"] == "done" and out["wrong"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
