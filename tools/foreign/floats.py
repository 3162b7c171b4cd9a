"""Number formats of the array in numpy, by their rules (docs/glossary.md: bf16, bfp16; crRnd)."""
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


def exponent(bits):
    """Biased exponent of bf16 bits as the multiplier takes it: that of a denormal number is 1."""
    return numpy.maximum(numpy.asarray(bits, numpy.int64) >> 7 & 0xFF, 1)


def mac(left, right, addend):
    """fp32 of left * right + addend, all bf16 bits, as one multiply-add of the vector unit.

    Terms are rounded to nearest even to the 24 bits below the largest exponent, where a product counts with the
    sum of its factors' exponents, then the exact sum once more. A result without normal exponent is +0.
    """
    a, b, c = (bf16_bits_to_float(bits).astype(numpy.float64) for bits in (left, right, addend))
    product_exponent = numpy.where(a * b == 0, 0, exponent(left) + exponent(right) - 127)
    largest = numpy.maximum(product_exponent, numpy.where(c == 0, 0, exponent(addend)))
    unit = numpy.ldexp(1.0, largest - 150)
    with numpy.errstate(invalid="ignore", over="ignore"):
        total = numpy.rint(a * b / unit) * unit + numpy.rint(c / unit) * unit
        special = ~numpy.isfinite(a * b + c)
        total = numpy.where(special, a * b + c, total) + 0.0
        result = total.astype(numpy.float32)
    result[numpy.abs(result) < 2.0**-126] = 0
    result.view(numpy.uint32)[numpy.isnan(result)] = 0x7F800001
    return result
