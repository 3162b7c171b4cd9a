#!/usr/bin/env python3
"""final_i8_KV_* of 1bit-MONSTER: an int8 product of what its transfers make of the operands.

  tools/foreign/int8_panels.py CONFIG.XCLBIN STREAM [--seed S] [-- OPTION...]

Its kernel multiplies blocks of 8 x 8, but nothing cuts A and C into blocks (core S2MM0 and the mem tile's MM2S move rows),
and the mem tile sends the eight panels of 64 of k, of each 512, from addresses one word apart (MM2S0: D0 16 x1,
D1 32 x128, D2 x1). So panel p holds k of 4p to 4p+63, its bytes are read as blocks, and C comes as blocks. B lies in panels
of 128 columns, in pieces of 64 of k, in blocks of 8 x 8. The model does the same in numpy; expected: no output differs.
"""
import argparse
import pathlib
import sys

import numpy

import array_stream

M, PIECE, PANEL, SPAN = 128, 64, 128, 512


def shifted(a):
    """A as the mem tile sends it."""
    out = numpy.empty_like(a)
    for start in range(0, a.shape[1], SPAN):
        for p in range(SPAN // PIECE):
            out[:, start + PIECE * p:start + PIECE * (p + 1)] = a[:, start + 4 * p:start + 4 * p + PIECE]
    return out


def rows_as_blocks(tile):
    """The matrix that is read as 8 x 8 blocks where a row-major one lies."""
    rows, columns = tile.shape
    return tile.reshape(rows // 8, columns // 8, 8, 8).transpose(0, 2, 1, 3).reshape(rows, columns)


def blocks_as_rows(tile):
    rows, columns = tile.shape
    return tile.reshape(rows // 8, 8, columns // 8, 8).transpose(0, 2, 1, 3).reshape(rows, columns)


def model(a, b):
    sent, out = shifted(a), numpy.zeros((M, b.shape[1]), numpy.int64)
    for m in range(0, M, 32):
        for k in range(0, a.shape[1], PIECE):
            tile = rows_as_blocks(numpy.ascontiguousarray(sent[m:m + 32, k:k + PIECE])).astype(numpy.int64)
            out[m:m + 32] += tile @ b[k:k + PIECE].astype(numpy.int64)
    return numpy.block([[blocks_as_rows(out[m:m + 32, n:n + PANEL]) for n in range(0, b.shape[1], PANEL)]
                        for m in range(0, M, 32)])


def pack_b(b):
    k, n = b.shape
    return numpy.ascontiguousarray(b.reshape(k // 8, 8, n // PANEL, PANEL // 8, 8).transpose(2, 0, 3, 1, 4))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=pathlib.Path)
    parser.add_argument("stream", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    args = parser.parse_args(arguments[:split])
    random = numpy.random.default_rng(args.seed)
    k, n = 1024, 1024
    a, b = (random.integers(-128, 128, shape).astype(numpy.int8) for shape in ((M, k), (k, n)))
    report, out = array_stream.emulate(args.config, [args.stream.read_bytes()], {0: a.tobytes(), 1: pack_b(b).tobytes()},
                                       {2: M * n * 4}, arguments[split + 1:])
    run = report["runs"][0]
    wrong = int((numpy.frombuffer(out[2], numpy.int32).reshape(M, n) != model(a, b)).sum())
    print(f"{M}x{k}x{n} on {len(run['cores'])} cores, end {run['end']}: {wrong} of {M * n} outputs differ from the model, "
          f"{run['cycles']} cycles modelled")
    return 0 if run["end"] == "done" and wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
