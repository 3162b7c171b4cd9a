#!/usr/bin/env python3
"""FastFlowLM's matrix product (mm.xclbin of the text models) with a stream of our own, against the format model.

  tools/foreign/flm_gemm.py MM.XCLBIN [--shape M,K,N] [--nearest] [--seed S] [-- OPTION...]

C [M, N] = A [M, K] x W [N, K] transposed, all bf16; M a multiple of 256, K of 512, N of 1024. Read off the configuration and
its programs: row r of the cores takes 64 rows of A from the mem tile of column 2r, column c 128 rows of W; each K step
is 512. Eight words at 0x1000 of each core say K/512, M, N, bias, activation (0 none, 1 GELU, 2 SiLU), clip, lower
and upper bound; lock 10 starts it. W lies as q4nx_dequant.py describes: in each 8 x 8 block of W rows and columns are
exchanged. A core turns both operands into blocks of 8 along k (bfp16ebs8), rounding down (crRnd 0, the byte at 0xE888;
--nearest writes 12 there), sums in fp32 and rounds C once.

Expected: no bit different. Also printed: the relative L2 distance to the product in fp64 of the values as blocks, and
of the values.
"""
import argparse
import pathlib
import sys

import numpy

import array_stream
import floats

ROWS, COLUMNS = range(2, 6), range(8)
STEP_M, STEP_K, STEP_N, PANEL_M, PANEL_N = 256, 512, 1024, 64, 128
PARAMETERS, START_LOCK, ROUNDING, NEAREST = 0x1000, 0x1F000 + 16 * 10, 0xE888, 12


def start_cores(stream, words, rounding):
    for column in COLUMNS:
        for row in ROWS:
            base = array_stream.tile(column, row)
            for i, word in enumerate(words):
                stream.write(base + PARAMETERS + 4 * i, word)
            if rounding:
                stream.write(base + ROUNDING, rounding)
            stream.write(base + START_LOCK, 1)


def make_stream(m, k, n, rounding):
    """Arguments: 0 A, 1 W, 2 C. One task for each panel and step, a wait for each before the next step."""
    stream = array_stream.Stream()
    start_cores(stream, [k // STEP_K, m, n, 0, 0, 0, 0, 0], rounding)
    line = 2 * k
    for n_step in range(0, n, STEP_N):
        for m_step in range(0, m, STEP_M):
            for column in COLUMNS:
                first = n_step + PANEL_N * column
                stream.transfer(column, array_stream.S2MM, 0, 0, 2, 2 * (m_step * n + first), STEP_M * PANEL_N * 2,
                                ((PANEL_N // 2, 4), (STEP_M, 2 * n)))
                stream.transfer(column, array_stream.MM2S, 1, 1, 1, first * line, PANEL_N * line,
                                ((STEP_K // 2, 4), (PANEL_N, line), (1, STEP_K * 2)))
                if column % 2 == 0:
                    stream.transfer(column, array_stream.MM2S, 0, 2, 0, (m_step + PANEL_M * column // 2) * line, PANEL_M * line,
                                    ((STEP_K // 2, 4), (PANEL_M, line), (1, STEP_K * 2)))
            for column in COLUMNS:
                stream.wait(column, array_stream.S2MM, 0)
                stream.wait(column, array_stream.MM2S, 1)
                if column % 2 == 0:
                    stream.wait(column, array_stream.MM2S, 0)
    return stream.bytes()


def exchange_blocks(w):
    n, k = w.shape
    return numpy.ascontiguousarray(w.reshape(n // 8, 8, k // 8, 8).transpose(0, 3, 2, 1)).reshape(n, k)


def random_bf16(random, shape):
    """Rows of different size, values of different size in a row."""
    values = random.standard_normal(shape) * numpy.exp2(random.integers(-6, 7, (shape[0], 1)))
    return floats.to_bf16_even((values * numpy.exp2(random.integers(-3, 4, shape))).astype(numpy.float32))


def distance(got, want):
    return numpy.linalg.norm(got - want) / numpy.linalg.norm(want)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=pathlib.Path)
    parser.add_argument("--shape", default="256,1024,2048")
    parser.add_argument("--nearest", action="store_true", help="round to nearest even instead of down")
    parser.add_argument("--seed", type=int, default=1)
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    args = parser.parse_args(arguments[:split])
    m, k, n = map(int, args.shape.split(","))
    if m % STEP_M or k % STEP_K or n % STEP_N or min(m, k, n) <= 0:
        parser.error(f"--shape {args.shape}: M must be a multiple of {STEP_M}, K of {STEP_K}, N of {STEP_N}")
    random = numpy.random.default_rng(args.seed)
    a_bits, w_bits = random_bf16(random, (m, k)), random_bf16(random, (n, k))
    report, out = array_stream.emulate(args.config, [make_stream(m, k, n, NEAREST if args.nearest else 0)],
                                       {0: a_bits.tobytes(), 1: exchange_blocks(w_bits).tobytes()}, {2: m * n * 2},
                                       arguments[split + 1:])
    run = report["runs"][0]
    a, w = floats.bf16_bits_to_float(a_bits), floats.bf16_bits_to_float(w_bits)
    rounding, to_bf16 = (numpy.rint, floats.to_bf16_even) if args.nearest else (numpy.floor, floats.to_bf16_floor)
    a_blocks, w_blocks = floats.to_bfp16(a, rounding), floats.to_bfp16(w, rounding)
    want = to_bf16(floats.block_macs(a_blocks, w_blocks, numpy.zeros((m, n), numpy.float32)))
    got = numpy.frombuffer(out[2], numpy.uint16).reshape(m, n)
    wrong = int((got != want).sum())
    values = floats.bf16_bits_to_float(got).astype(numpy.float64)
    print(f"{m}x{k}x{n} on {len(run['cores'])} cores, end {run['end']}: {wrong} of {got.size} values differ from the format "
          f"model, {run['cycles']} cycles modelled")
    if "message" in run:
        print(run["message"])
    print(f"relative L2 distance to the product of the blocks "
          f"{distance(values, floats.bfp16_values(*a_blocks) @ floats.bfp16_values(*w_blocks).T):.2e}, of the values "
          f"{distance(values, a.astype(numpy.float64) @ w.T):.2e}")
    return 0 if run["end"] == "done" and wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
