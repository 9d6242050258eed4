# SPDX-License-Identifier: MIT
"""Values on their way between Python and Atled, by the function's signature.

    Atled                 an argument                                          a result
    float, int, bool      float, int, bool, NumPy's scalars                    float, int, bool
    string, unit          str, None                                            str, None
    float[], int[][], …   an array or (nested) sequence of numbers             an array, read-only
    'a[], 'a list         a sequence                                           a list
    tuple                 a tuple or list                                      a tuple
    record                a dict, a dataclass, any object with the fields      a dataclass
    option                None or the value                                    None or the value
    other variants        Variant(name, value)                                 Variant

Arrays whose elements have the type's size (float64, int64, bool) aren't copied on the way in, strided ones by the library.
`writer` and `reader` give a function for each type once, so a call does no more than these."""
import collections
import ctypes
import dataclasses
import keyword
import sys

import numpy as np

from . import _library as c

NUMPY = {c.FLOAT: np.dtype(np.float64), c.INT: np.dtype(np.int64), c.BOOL: np.dtype(np.bool_)}
SCALARS = {c.FLOAT: "number", c.INT: "integer", c.BOOL: "boolean"}


@dataclasses.dataclass(frozen=True)
class Variant:
    """A constructor of a type with several cases, and the value it holds; None: it holds none."""
    name: str
    value: object = None


def _names(t):
    return [t.names[i].decode() for i in range(t.count)]


def _is_option(t):
    return t.kind == c.VARIANT and t.name == b"option" and t.parts[1].contents.kind not in (c.UNIT, c.VARIANT)


# ---- Arguments -----------------------------------------------------------------------------------------
def writer(t, where, known):
    """A function (object, Value, keep) that fills in the Value; what its pointers lead to is added to the list `keep`.
    where: names the argument in messages. known: address of a type's tree -> its writer, for types within themselves."""
    at = ctypes.addressof(t)
    if at not in known:
        known[at] = lambda x, v, keep: known[at](x, v, keep)  # until it is made
        known[at] = _writer(t, where, known)
    return known[at]


def _writer(t, where, known):
    if t.kind in SCALARS:
        return _scalar_writer(t.kind, where)
    if t.kind == c.ARRAY and t.parts[0].contents.kind in NUMPY:
        return _numpy_writer(t.parts[0].contents.kind, t.rank, where)
    make = {c.UNIT: _unit_writer, c.STRING: _string_writer, c.ARRAY: _items_writer, c.LIST: _items_writer, c.TUPLE: _tuple_writer,
            c.RECORD: _record_writer, c.VARIANT: _option_writer if _is_option(t) else _variant_writer}.get(t.kind)
    if not make:
        raise TypeError(f"{where}: functions can't be handed over, but as arguments of a polymorphic function")
    return make(t, where, known)


def _wrong(where, wanted, x):
    return TypeError(f"{where}: {wanted} is needed, not {type(x).__name__}")


def _scalar_writer(kind, where):
    python = {c.FLOAT: (float, int, np.floating, np.integer), c.INT: (int, np.integer), c.BOOL: (bool, np.bool_)}[kind]
    convert, wanted = {c.FLOAT: (float, "a float"), c.INT: (int, "an int"), c.BOOL: (bool, "a bool")}[kind]
    field = SCALARS[kind]

    def write(x, v, keep):
        if not isinstance(x, python) or (kind != c.BOOL and isinstance(x, bool)):
            if not (isinstance(x, np.ndarray) and x.ndim == 0):
                raise _wrong(where, wanted, x)
        v.kind = kind
        setattr(v, field, convert(x))

    return write


def _numpy_writer(kind, rank, where):
    dtype, exact = NUMPY[kind], {c.FLOAT: "fiu", c.INT: "iu", c.BOOL: "b"}[kind]

    def converted(x, keep):
        a = np.asarray(x)
        if a.size and a.dtype.kind not in exact:
            raise TypeError(f"{where}: an array of {dtype} is needed, not of {a.dtype}")
        a = a.astype(dtype)
        keep.append(a)
        return a

    def write(x, v, keep):
        if type(x) is not np.ndarray or x.dtype is not dtype or not x.flags.aligned:
            x = converted(x, keep)
        shape = x.shape
        if len(shape) != rank:
            raise TypeError(f"{where}: an array of {rank} dimension{'s' * (rank != 1)} is needed, not of {len(shape)}")
        v.kind, v.element, v.rank, v.data, v.strides = c.ARRAY, kind, rank, _address(x), None
        v.dims[:rank] = shape
        if not x.flags.c_contiguous:
            strides = (ctypes.c_int64 * rank)(*x.strides)
            keep.append(strides)
            v.strides = ctypes.addressof(strides)

    return write


def _address_by_interface(x):
    return x.ctypes.data


def _address_in_header(x):
    """In CPython the address of an array's elements stands right behind the object's header: a quarter of the time."""
    return _Word.from_address(id(x) + object.__basicsize__).value


_Word = ctypes.c_void_p
_probe = np.zeros(3)[1:]
try:
    _in_header = sys.implementation.name == "cpython" and _address_in_header(_probe) == _probe.ctypes.data
except AttributeError:
    _in_header = False
_address = _address_in_header if _in_header else _address_by_interface


def _unit_writer(t, where, known):
    def write(x, v, keep):
        if x is not None and x != ():
            raise _wrong(where, "None", x)
        v.kind = c.UNIT

    return write


def _string_writer(t, where, known):
    def write(x, v, keep):
        if not isinstance(x, str):
            raise _wrong(where, "a str", x)
        text = x.encode()
        keep.append(text)
        v.kind, v.length = c.STRING, len(text)
        v.data = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p)

    return write


def _fill(writers, xs, v, keep):
    """Writes xs as the items of v."""
    items = (c.Value * len(xs))()
    keep.append(items)
    for write, x, item in zip(writers, xs, items):
        write(x, item, keep)
    v.length, v.data = len(xs), ctypes.addressof(items)


def _items_writer(t, where, known):
    element, rank = t.parts[0].contents, t.rank if t.kind == c.ARRAY else 1
    write_one = writer(element, where + ", element", known)

    def shape(x, depth):
        if isinstance(x, (str, bytes, dict)) or not hasattr(x, "__len__"):
            raise _wrong(where, "a sequence", x)
        return [len(x)] + (shape(x[0], depth - 1) if depth > 1 and len(x) else [0] * (depth - 1))

    def flat(x, dims):
        if len(x) != dims[0]:
            raise TypeError(f"{where}: rows of equal lengths are needed")
        return list(x) if len(dims) == 1 else [z for y in x for z in flat(y, dims[1:])]

    def write(x, v, keep):
        dims = shape(x, rank)
        xs = flat(x, dims)
        v.kind, v.element, v.rank = t.kind, element.kind, rank
        v.dims[:rank] = dims
        if t.kind == c.ARRAY and element.kind == c.STRING:
            _fill_texts(xs, v, keep, where)
        else:
            _fill([write_one] * len(xs), xs, v, keep)

    return write


def _fill_texts(xs, v, keep, where):
    if not all(isinstance(x, str) for x in xs):
        raise TypeError(f"{where}: an array of str is needed")
    bytes_ = [x.encode() for x in xs]
    texts = (c.Text * len(xs))(*((b, len(b)) for b in bytes_))
    keep += [bytes_, texts]
    v.length, v.data = len(xs), ctypes.addressof(texts)


def _tuple_writer(t, where, known):
    writers = [writer(t.parts[i].contents, f"{where}, item {i}", known) for i in range(t.count)]

    def write(x, v, keep):
        if not isinstance(x, (tuple, list)) or len(x) != len(writers):
            raise TypeError(f"{where}: a tuple of {len(writers)} is needed, not {type(x).__name__}"
                            + (f" of {len(x)}" if hasattr(x, "__len__") else ""))
        v.kind = c.TUPLE
        _fill(writers, x, v, keep)

    return write


def _record_writer(t, where, known):
    names = _names(t)
    writers = [writer(t.parts[i].contents, f"{where}, field `{n}`", known) for i, n in enumerate(names)]

    def write(x, v, keep):
        get = x.__getitem__ if isinstance(x, dict) else lambda n: getattr(x, python_name(n))
        try:
            xs = [get(n) for n in names]
        except (KeyError, AttributeError):
            raise TypeError(f"{where}: an object with the fields {', '.join(names)} is needed") from None
        if isinstance(x, dict) and len(x) != len(names):
            raise TypeError(f"{where}: there is no field `{next(k for k in x if k not in names)}`")
        v.kind = c.TUPLE  # of the fields in alphabetical order
        _fill(writers, xs, v, keep)

    return write


def _write_constructor(name, write_one, x, v, keep):
    v.kind, v.name, v.length = c.VARIANT, name, 0
    keep.append(name)
    if write_one:
        _fill([write_one], [x], v, keep)


def _option_writer(t, where, known):
    names = [t.names[i] for i in range(2)]
    none, some = names.index(b"None"), names.index(b"Some")
    write_one = writer(t.parts[some].contents, where, known)

    def write(x, v, keep):
        if x is None:
            _write_constructor(names[none], None, None, v, keep)
        else:
            _write_constructor(names[some], write_one, x, v, keep)

    return write


def _variant_writer(t, where, known):
    parts = {t.names[i].decode(): t.parts[i].contents for i in range(t.count)}
    writers = {n: None if p.kind == c.UNIT else writer(p, f"{where}, {n}", known) for n, p in parts.items()}

    def write(x, v, keep):
        if not isinstance(x, Variant) or x.name not in writers:
            raise TypeError(f"{where}: a Variant of {', '.join(writers)} is needed, not {x!r}")
        _write_constructor(x.name.encode(), writers[x.name], x.value, v, keep)

    return write


# ---- Results --------------------------------------------------------------------------------------------
def reader(t, known, name=None):
    """A function (Value, hold) that makes the Python value. hold() gives the object that keeps the result's memory; it is
    called for arrays only. name: of the type, for a record's class."""
    at = ctypes.addressof(t)
    if at not in known:
        known[at] = lambda v, hold: known[at](v, hold)
        known[at] = _reader(t, known, name)
    return known[at]


def _reader(t, known, name):
    if t.kind == c.FLOAT:
        return lambda v, hold: v.number
    if t.kind == c.INT:
        return lambda v, hold: v.integer
    if t.kind == c.BOOL:
        return lambda v, hold: v.boolean
    if t.kind == c.UNIT:
        return lambda v, hold: None
    if t.kind in (c.STRING, c.OTHER):
        return lambda v, hold: ctypes.string_at(v.data, v.length).decode()
    if t.kind == c.ARRAY:
        return _array_reader(t, known)
    if t.kind == c.RECORD:
        return _record_reader(t, known, name)
    if t.kind == c.VARIANT:
        return _variant_reader(t, known)
    parts = [reader(t.parts[i].contents, known) for i in range(t.count)]
    if t.kind == c.LIST:
        return lambda v, hold: [parts[0](item, hold) for item in _items(v)]
    return lambda v, hold: tuple(read(item, hold) for read, item in zip(parts, _items(v)))


def _items(v, of=c.Value):
    return (of * v.length).from_address(v.data) if v.length else ()


_BYTES = {}  # length -> type of a ctypes array


def _in_memory(address, size, dtype, owner):
    """The read-only array of `size` elements at an address, in memory that the owner keeps."""
    n = size * dtype.itemsize
    of = _BYTES.get(n)
    if not of:
        if len(_BYTES) > 1000:
            _BYTES.clear()
        of = _BYTES[n] = ctypes.c_char * n
    buffer = of.from_address(address)
    buffer.owner = owner
    a = np.frombuffer(buffer, dtype)
    a.flags.writeable = False
    return a


def _array_reader(t, known):
    element, rank = t.parts[0].contents, t.rank
    if rank > c.MAX_RANK:
        return lambda v, hold: ctypes.string_at(v.data, v.length).decode()
    if element.kind in NUMPY:
        dtype = NUMPY[element.kind]

        def read(v, hold):
            if not v.length:
                a = np.empty(v.dims[:rank], dtype)
                a.flags.writeable = False
                return a
            a = _in_memory(v.data, v.length, dtype, hold())
            return a if rank == 1 else a.reshape(v.dims[:rank])

        return read

    read_one = reader(element, known)

    def read_items(v, hold):
        if element.kind == c.STRING:
            flat = [ctypes.string_at(x.bytes, x.length).decode() for x in _items(v, _RawText)]
        else:
            flat = [read_one(x, hold) for x in _items(v)]
        for n in reversed(v.dims[1:rank]):
            flat = [flat[i:i + n] for i in range(0, len(flat), n)] if n else [[] for _ in range(v.dims[0])]
        return flat

    return read_items


class _RawText(ctypes.Structure):
    """As Text; a c_char_p would be read up to its first zero."""
    _fields_ = [("bytes", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def python_name(name):
    """A field's name as an attribute: primes become underscores, keywords get one."""
    name = name.replace("'", "_")
    return name + "_" if keyword.iskeyword(name) else name


def _record_reader(t, known, name):
    fields = [python_name(n) for n in _names(t)]
    parts = [reader(t.parts[i].contents, known) for i in range(t.count)]
    cls = dataclasses.make_dataclass((name or "Record").rpartition(".")[2].capitalize(), fields, frozen=True)
    return lambda v, hold: cls(*(read(item, hold) for read, item in zip(parts, _items(v))))


def _variant_reader(t, known):
    names = _names(t)
    parts = [reader(t.parts[i].contents, known) for i in range(t.count)]
    if t.shown_as:  # an abstract type, as a Map: an array of what it holds
        return lambda v, hold: Variant(v.name.decode(), [_anything(x, hold) for x in _items(v)])

    def value(v, hold):
        return parts[v.tag](_items(v)[0], hold) if v.length else None

    if _is_option(t):
        return value
    return lambda v, hold: Variant(names[v.tag], value(v, hold))


def _anything(v, hold):
    """A value without its type."""
    if v.kind in SCALARS:
        return getattr(v, SCALARS[v.kind])
    if v.kind in (c.STRING, c.OTHER):
        return ctypes.string_at(v.data, v.length).decode()
    if v.kind == c.ARRAY and v.element in NUMPY:
        return np.ctypeslib.as_array(ctypes.cast(v.data, ctypes.POINTER(np.ctypeslib.as_ctypes_type(NUMPY[v.element]))),
                                     tuple(v.dims[:v.rank])).copy() if v.length else np.empty(tuple(v.dims[:v.rank]))
    items = tuple(_anything(x, hold) for x in _items(v)) if v.kind != c.UNIT else None
    return Variant(v.name.decode(), *items) if v.kind == c.VARIANT else items


# ---- Types of arguments --------------------------------------------------------------------------------
def type_of(x):
    """The type, as source writes it, at which a polymorphic function gets the argument x."""
    if isinstance(x, (bool, np.bool_)):
        return "bool"
    if isinstance(x, (int, np.integer)):
        return "int"
    if isinstance(x, (float, np.floating)):
        return "float"
    if isinstance(x, str):
        return "string"
    if x is None:
        return "unit"
    if isinstance(x, tuple):
        return "(" + " * ".join(map(type_of, x)) + ")"
    if isinstance(x, dict):
        return "{" + ", ".join(f"{k} : {type_of(x[k])}" for k in sorted(x)) + "}"
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return type_of({f.name: getattr(x, f.name) for f in dataclasses.fields(x)})
    if isinstance(x, collections.abc.Sequence) and len(x) and not _is_numeric(x):
        return type_of(x[0]) + "[]"
    a = np.asarray(x)
    names = {"f": "float", "i": "int", "u": "int", "b": "bool"}
    if a.ndim and a.dtype.kind in names:
        return names[a.dtype.kind] + "[]" * a.ndim
    raise TypeError(f"the function is polymorphic, and {type(x).__name__} is no type of Atled")


def _is_numeric(x):
    while isinstance(x, collections.abc.Sequence) and not isinstance(x, str) and len(x):
        x = x[0]
    return isinstance(x, (float, int, bool, np.ndarray, np.number, np.bool_))
