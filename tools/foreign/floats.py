"""Number formats and multiply-adds of the array in numpy, by their rules (docs/glossary.md: bf16, bfp16, crRnd)."""
import numpy


def bf16_bits_to_float(bits):
    return (numpy.asarray(bits, numpy.uint32) << 16).view(numpy.float32)


def to_bf16_floor(values):
    """fp32 to bf16 bits towards minus infinity (crRnd 0), NaN as 0x7F81 or 0xFF81."""
    bits = numpy.ascontiguousarray(values, numpy.float32).view(numpy.uint32)
    nan = (bits & 0x7FFFFFFF) > 0x7F800000
    floor = (bits >> 16) + ((bits >> 31) & ((bits & 0xFFFF) != 0))
    return numpy.where(nan, bits >> 16 | ((bits & 0x7F0000) == 0), floor).astype(numpy.uint16)


def to_bf16_even(values):
    """fp32 to bf16 bits, to nearest even (crRnd 12); for finite values."""
    bits = numpy.ascontiguousarray(values, numpy.float32).view(numpy.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)


def exponent(values):
    """Biased exponent of fp32 values as the vector unit takes it: that of a denormal number is 1."""
    bits = numpy.ascontiguousarray(values, numpy.float32).view(numpy.uint32)
    return numpy.maximum(bits.astype(numpy.int64) >> 23 & 0xFF, 1)


def add_terms(*terms):
    """fp32 sum of (value, biased exponent) pairs as the vector unit makes it: each term rounded to nearest even to the
    24 bits below the largest exponent, the exact sum rounded once more; without a normal exponent it is +0."""
    largest = numpy.max([numpy.where(value == 0, -1000, exponents) for value, exponents in terms], axis=0)
    unit = numpy.ldexp(1.0, numpy.maximum(largest, -500) - 150)
    with numpy.errstate(invalid="ignore", over="ignore"):
        plain = sum(value for value, _ in terms)
        total = sum(numpy.rint(value / unit) * unit for value, _ in terms)
        result = (numpy.where(numpy.isfinite(plain), total, plain) + 0.0).astype(numpy.float32)
    result[numpy.abs(result) < 2.0**-126] = 0
    result.view(numpy.uint32)[numpy.isnan(result)] = 0x7F800001
    return result


def mac(left, right, addend):
    """fp32 of left * right + addend, all bf16 bits, as one multiply-add."""
    a, b, c = (bf16_bits_to_float(bits) for bits in (left, right, addend))
    product = a.astype(numpy.float64) * b
    return add_terms((product, exponent(a) + exponent(b) - 127), (c.astype(numpy.float64), exponent(c)))


def to_bfp16(values, rounding):
    """Mantissas and biased exponents of blocks of 8 along the last axis. rounding: numpy.floor (crRnd 0) or numpy.rint
    (12). A block with a mantissa that would round to 128 gets the next exponent (docs/assumptions.md)."""
    blocks = numpy.ascontiguousarray(values, numpy.float32).reshape(*values.shape[:-1], -1, 8)
    exponents = numpy.where(blocks == 0, 0, exponent(blocks)).max(axis=-1)
    exact = blocks.astype(numpy.float64)
    exponents = exponents + (rounding(numpy.ldexp(exact, 133 - exponents[..., None])).max(axis=-1) > 127)
    return rounding(numpy.ldexp(exact, 133 - exponents[..., None])).astype(numpy.int8), exponents.astype(numpy.uint8)


def bfp16_values(mantissas, exponents):
    values = numpy.ldexp(mantissas.astype(numpy.float64), exponents[..., None].astype(numpy.int64) - 133)
    return values.reshape(*values.shape[:-2], -1)


def block_macs(a, b, total):
    """total [M, N] fp32 plus a x b, one multiply-add for each 8 of k. a, b: bfp16 [M or N, K/8, 8], [.., K/8]."""
    for k in range(a[0].shape[1]):
        exponents = a[1][:, k].astype(numpy.int64)[:, None] + b[1][:, k]
        products = a[0][:, k].astype(numpy.int64) @ b[0][:, k].astype(numpy.int64).T
        total = add_terms((numpy.ldexp(products.astype(numpy.float64), exponents - 266), exponents - 127),
                          (total.astype(numpy.float64), exponent(total)))
    return total
