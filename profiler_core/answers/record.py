"""What an answer is made of: a frozen record whose fields say what they mean and in which unit."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import msgspec


@dataclass(frozen=True)
class Meaning:
    """What a key of an answer means, as docs/json.md says it."""

    what: str
    unit: str
    of_keys: Mapping[str, str]


def means(what: str, unit: str = "", /, **of_keys: str) -> Meaning:
    """The meaning of a field, for its Annotated type.

    Args:
        what: Markdown; `{keys}` in it stands for the keys of the records inside of the field.
        unit: of the number; empty where there is none.
        of_keys: what single ones of these keys mean, where their own record does not say it.
    """
    return Meaning(what, unit, of_keys)


COMPILED_BY_SCRIPT = means(
    "what the script compiles although the run is called eager, by the first source that tells; "
    "null where nothing is seen of it: {keys}",
    is_whole="the model or the step as a whole",
    n_blocks="compiled modules of the model, the outermost ones; 0 where only others or none",
    blocks="names of the first 50",
    n_frames="that Dynamo compiled in the process; null where the trace or the logs tell",
    n_regions="compiled regions of the trace, as `span` says; null where it was not asked",
    span="`per step`; `in the trace` where that marks none",
    n_compilations="in the logs; null where they were not asked",
)


COMPILE_FAILURE = means(
    "why torch.compile failed, by its own error; null where it did not: {keys}",
    error="the class of the error",
    reason="torch's words",
    hints="torch's own",
    file="with `line`, `function` and `code`: the innermost line of the user's code",
    defined_in_file="with `defined_in_line`: where the custom operator is defined that lacks "
    "something",
)


class Answer(msgspec.Struct, frozen=True):
    """A record of an answer. A key of another name than its attribute is named in the field."""

    @classmethod
    def of(cls, *sources: object, **values: Any) -> Self:
        """The record of these values; those not given are attributes of the first source with one.

        Raises:
            AttributeError: no source has a field that has no default.
        """
        defaults = {field.name for field in msgspec.structs.fields(cls) if not field.required}
        for name in cls.__struct_fields__:
            if name in values:
                continue
            source = next((source for source in sources if hasattr(source, name)), None)
            if source is not None:
                values[name] = getattr(source, name)
            elif name not in defaults:
                raise AttributeError(f"nothing has the {name} of {cls.__name__}")
        return cls(**values)
