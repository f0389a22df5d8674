"""A call of an operator as a trace records it: its arguments' shapes and types, and its scalars."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import prod

from profiler_core.analysis.operator_arguments import whole_numbers

Shape = tuple[int, ...]

# Kineto's names of C++ types, and the short names of printed graphs.
ITEM_BYTES = {
    "float": 4, "double": 8, "c10::Half": 2, "c10::BFloat16": 2, "long int": 8, "long": 8, "int": 4,
    "short int": 2, "short": 2, "signed char": 1, "unsigned char": 1, "bool": 1,
    "c10::complex<float>": 8, "c10::Float8_e4m3fn": 1, "c10::Float8_e5m2": 1,
    "f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "i16": 2, "i8": 1, "u8": 1,
    "b8": 1, "c64": 8, "f8e4m3fn": 1, "f8e5m2": 1,
}  # fmt: skip
FLOATING = frozenset((
    "float", "double", "c10::Half", "c10::BFloat16", "f64", "f32", "f16", "bf16",
    "c10::Float8_e4m3fn", "c10::Float8_e5m2", "f8e4m3fn", "f8e5m2", "c10::complex<float>", "c64",
))  # fmt: skip
# c10::ScalarType by number, as "Concrete Inputs" have it: bytes.
TYPE_NUMBERS = {
    "0": 1, "1": 1, "2": 2, "3": 4, "4": 8, "5": 2, "6": 4, "7": 8, "8": 4, "9": 8, "10": 16,
    "11": 1, "15": 2, "23": 1, "24": 1, "25": 1, "26": 1,
}  # fmt: skip

_NUMBERS = (("double",), ("long int",), ("bool",))  # torch's types of numbers of Python's


@dataclass(frozen=True, slots=True)
class OperatorCall:
    """A call as a trace records it."""

    name: str  # "aten::sum"
    shapes: tuple[Shape | None, ...]  # one an argument; None: a scalar, a list, none given
    dtypes: tuple[str, ...]
    concrete: tuple[str, ...] = ()  # the arguments that are no tensors, each in its place
    # Shapes in each list of tensors, of one value (); no shapes: torch recorded none.
    lists: tuple[tuple[Shape, ...], ...] = ()
    list_item: int = 0  # bytes of one value in these lists; 0: not known

    @classmethod
    def recorded(
        cls,
        name: str,
        shapes: Sequence[Shape | None],
        dtypes: Sequence[str],
        concrete: Sequence[str],
        lists: Sequence[tuple[Shape, ...]] = (),
        list_item: int = 0,
    ) -> "OperatorCall":
        """By what Kineto writes: of a tensor of one value a type without a shape."""
        types = (*dtypes, *("" for _ in shapes))
        with_values = [
            () if shape is None and kind in ITEM_BYTES else shape
            for shape, kind in zip(shapes, types, strict=False)
        ]
        return cls(
            name, tuple(with_values), tuple(dtypes), tuple(concrete), tuple(lists), list_item
        )

    @property
    def bare(self) -> str:
        """The name without its namespace and without the underscore of an in-place one."""
        bare = self.name.removeprefix("aten::")
        return bare.removesuffix("_") if self.is_in_place else bare

    @property
    def is_in_place(self) -> bool:
        """Does it write into its first argument?"""
        return self.name.endswith("_") and not self.name.endswith("__")

    def shape(self, position: int) -> Shape | None:
        """Of a tensor argument; None where there is none."""
        return self.shapes[position] if 0 <= position < len(self.shapes) else None

    def item(self, position: int) -> int:
        """Bytes of one value of a tensor argument."""
        return ITEM_BYTES[self.dtypes[position]]

    def size(self, position: int) -> int:
        """Bytes of a tensor argument, 0 where it is none."""
        shape = self.shape(position)
        return 0 if shape is None else prod(shape) * self.item(position)

    def given(self, position: int) -> str:
        """An argument that is no tensor, as Kineto writes it; "" where none is recorded."""
        return self.concrete[position] if 0 <= position < len(self.concrete) else ""

    def numbers(self, position: int) -> list[int] | None:
        """The whole numbers of a list, or of one number; None where there are none."""
        return whole_numbers(self.given(position))

    def length_along(self, position: int) -> int | None:
        """Of the first tensor, along the dimension that an argument names."""
        shape, along = self.shape(0), self.numbers(position)
        if shape is None or along is None or not -len(shape) <= along[0] < len(shape):
            return None
        return shape[along[0]]

    @property
    def tensors(self) -> list[int]:
        """Positions of the arguments that are tensors."""
        return [n for n, shape in enumerate(self.shapes) if shape is not None]

    @property
    def all_bytes(self) -> int:
        """Of all of its tensors."""
        return self.bytes_of(range(len(self.shapes)))

    def bytes_of(self, positions: Iterable[int]) -> int:
        """Of these of its tensors, without those that may be no memory."""
        return sum(self.size(n) for n in positions if not self._may_be_number(n))

    def _may_be_number(self, position: int) -> bool:
        """Is it recorded as a number of Python's is: `x + 1` has a tensor of one value for it?"""
        is_typed = self.dtypes[position : position + 1] in _NUMBERS
        return position > 0 and self.shape(position) == () and is_typed


def broadcast(shapes: Sequence[Shape]) -> Shape | None:
    """The shape that these have together; None where they do not fit."""
    result = []
    for lengths in zip_longest(*(shape[::-1] for shape in shapes), fillvalue=1):
        longest = {length for length in lengths if length != 1} or {1}
        if len(longest) > 1:
            return None
        result.append(longest.pop())
    return tuple(reversed(result))
