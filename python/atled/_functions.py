# SPDX-License-Identifier: MIT
"""Programs (a VM each), functions, and derivatives of functions.

A Function is an expression of the program, "loss" or "fun a b -> grad (fun t -> loss t b) a". It is looked up at its inferred
type; one that has type variables is looked up at the types of the arguments of each call, once for each combination. What was
looked up is an Entry: a handle, and the converters of its signature.

A VM is used by one thread at a time, so each Program has a lock; the library runs without Python's. Handles and kept results that
the garbage collector finds are released when the lock is held next, since it runs anywhere."""
import collections
import ctypes
import sys
import threading

from . import _interrupts
from . import _library as c
from ._errors import error_of
from ._values import reader, type_of, writer

_lib = c.lib
_Address, _byref = ctypes.c_void_p, ctypes.byref


class Program:
    """The definitions of a source. Its attributes are its top-level names: functions are called, other values are given.

    time_limit: seconds for each call; memory_limit: bytes; jit: "auto", "off" or "always"; strict: the same digits on every
    machine and in every mode; threads: how many run functions of `par` and `pmap`, less than 0: one for each processor;
    flush_subnormals: floats below 2.3e-308 count as 0 and become 0; trap: "nan" or "inf", stop where an operation or its
    derivative yields NaN, or an infinity too. What the program prints goes to sys.stdout, what it writes by `eprint` to sys.stderr."""

    _stops_at_interrupts = True  # Ctrl-C ends a call

    def __init__(self, *, time_limit=0.0, memory_limit=0, jit=None, strict=None, threads=None, flush_subnormals=False,
                 trap=None):
        config = c.Config()
        _lib.atled_config_init_sized(_byref(config), ctypes.sizeof(config))
        config.time_limit, config.memory_limit = time_limit, memory_limit
        if jit is not None:
            config.jit = c.JIT.index(jit)
        if strict is not None:
            config.strict = strict
        if threads is not None:
            config.threads = threads
        config.flush_subnormals = flush_subnormals
        config.trap = (None, "nan", "inf").index(trap)
        self._connect(config)
        self._vm, self._lock, self._dead, self._types = _lib.atled_new(_byref(config)), threading.RLock(), collections.deque(), {}
        if not self._vm:
            raise MemoryError("no memory for a VM")
        if self._stops_at_interrupts:
            _interrupts.watch(self)

    def _connect(self, config):
        """Sets the callbacks, which must last as long as the VM."""
        self._output = config.output = c.OUTPUT(_write)

    def __del__(self):
        if getattr(self, "_vm", None):
            self._release_dead()
            _lib.atled_free(self._vm)  # with the last of its handles

    def _check(self, status):
        if status != c.OK:
            raise error_of(self._vm, status)

    def _release_dead(self):
        while self._dead:
            release, address = self._dead.popleft()
            release(address)

    def eval(self, source, name="<python>"):
        """Evaluates more source: its definitions are seen by what comes later."""
        with self._lock:
            self._release_dead()
            self._types.clear()
            self._check(_lib.atled_eval(self._vm, name.encode(), source.encode()))

    def eval_file(self, path):
        """The same for a file."""
        with self._lock:
            self._release_dead()
            self._types.clear()
            self._check(_lib.atled_eval_file(self._vm, str(path).encode()))

    def interrupt(self):
        """Stops what another thread runs: there, EvaluationError of kind "interrupt"."""
        _lib.atled_interrupt(self._vm)

    def type_of(self, expression):
        """The type of an expression, as source writes it."""
        with self._lock:
            if expression not in self._types:
                text = ctypes.c_char_p()
                self._check(_lib.atled_type(self._vm, expression.encode(), ctypes.byref(text)))
                self._types[expression] = text.value.decode()
            return self._types[expression]

    def __call__(self, expression):
        """The value of an expression: a Function, or data."""
        is_function = "->" in _outside_brackets(self.type_of(expression).rpartition("=>")[2])
        f = Function(self, expression)
        return f if is_function else f._entry(()).call(())

    def __getattr__(self, name):
        if name.startswith("_") or name not in self.__dir__():
            raise AttributeError(f"the program has no `{name}`")
        return self(name)

    def __dir__(self):
        names = ctypes.POINTER(ctypes.c_char_p)()
        with self._lock:
            n = _lib.atled_names(self._vm, b"", ctypes.byref(names))
            return [names[i].decode() for i in range(n)]


def _outside_brackets(text):
    """A type without what stands in brackets."""
    depth, out = 0, []
    for ch in text:
        depth += (ch in "({[") - (ch in ")}]")
        if depth == 0:
            out.append(ch)
    return "".join(out)


def _write(user, stream, text, length):
    """What a program prints. False, which ends it, if it can't be written."""
    try:
        (sys.stderr if stream else sys.stdout).write(ctypes.string_at(text, length).decode(errors="replace"))
        return True
    except Exception:  # noqa: BLE001: nothing may be raised through the library
        return False


def load(path, **options):
    """The program of a file; options: those of Program."""
    p = Program(**options)
    p.eval_file(path)
    return p


def program(source, name="<python>", **options):
    """The program of a text."""
    p = Program(**options)
    p.eval(source, name)
    return p


class _Kept:
    """A result's memory, for the arrays that lie in it."""

    __slots__ = "owner", "address", "arguments"

    def __init__(self, owner, address, arguments):
        self.owner, self.address, self.arguments = owner, address, arguments  # a result may lie in an argument's memory

    def __del__(self):
        self.owner._dead.append((_lib.atled_drop, self.address))


class _Entry:
    """A handle with the converters of its signature."""

    def __init__(self, owner, expression, type_text):
        self.owner, handle = owner, ctypes.c_void_p()
        text = type_text.encode() if type_text else None
        owner._check(_lib.atled_get(owner._vm, expression.encode(), text, ctypes.byref(handle)))
        self.handle = handle.value
        s = ctypes.POINTER(c.Signature)()
        owner._check(_lib.atled_signature(self.handle, ctypes.byref(s)))
        self.signature, known = s.contents, {}
        self.arity = self.signature.arity
        ps = [self.signature.parameters[i] for i in range(self.arity)]
        self.names = [p.name.decode() if p.name else None for p in ps]
        self.writers = [writer(p.type.contents, f"`{n}`" if n else f"argument {i + 1}", {})
                        for i, (p, n) in enumerate(zip(ps, self.names))]
        self.result = c.Value()
        self.read = reader(self.signature.result.type.contents, known, self.signature.result.text.decode())
        self.result_at = ctypes.addressof(self.result)
        self.args = (c.Value * max(self.arity, 1))()
        self.slots = list(self.args)  # made once: indexing an array makes an object each time
        self.args_at = ctypes.addressof(self.args)
        kinds = {p.type.contents.kind for p in [*ps, self.signature.result]}
        if ps and kinds == {c.FLOAT}:
            self._make_call_of_floats()

    def _make_call_of_floats(self):
        n, handle, general = self.arity, self.handle, self.call
        doubles, result, call = (ctypes.c_double * n)(), ctypes.c_double(), _lib.atled_call_double
        doubles_at, result_at = ctypes.addressof(doubles), ctypes.addressof(result)

        def call_of_floats(xs):
            for x in xs:
                if type(x) is not float:
                    return general(xs)
            if len(xs) != n:
                return general(xs)
            doubles[:] = xs
            if call(handle, doubles_at, n, result_at):
                return general(xs)  # which fails in the same way
            return result.value

        self.call = call_of_floats

    def __del__(self):
        if getattr(self, "handle", None):
            self.owner._dead.append((_lib.atled_release, self.handle))

    def call(self, xs):
        """The lock is held."""
        if len(xs) != self.arity:
            raise TypeError(f"{self.arity} argument{'s' * (self.arity != 1)} are needed, not {len(xs)}")
        keep = []
        for write, x, slot in zip(self.writers, xs, self.slots):
            write(x, slot, keep)
        status = _lib.atled_call(self.handle, self.args_at, self.arity, self.result_at)
        if status:
            self.owner._check(status)
        hold = _Holder(self, xs)
        return self.read(self.result, hold)


class _Holder:
    """Keeps the last result of an entry when it is called first."""
    __slots__ = "entry", "arguments", "kept"

    def __init__(self, entry, arguments):
        self.entry, self.arguments, self.kept = entry, arguments, None

    def __call__(self):
        if self.kept is None:
            address = _Address()
            e = self.entry
            status = _lib.atled_keep(e.handle, _byref(address))
            if status:
                e.owner._check(status)
            self.kept = _Kept(e.owner, address.value, self.arguments)
        return self.kept


class Function:
    """A function of a program. Called with positional arguments, or by the names of its parameters."""

    def __init__(self, owner, expression):
        self._owner, self._expression, self._entries, self._plain = owner, expression, {}, None
        self.__name__ = expression

    def _entry(self, xs):
        """At its own type, or if that has variables at those of the arguments."""
        if self._plain:
            return self._plain
        owner, text = self._owner, self._owner.type_of(self._expression)
        if "'" not in text:
            self._plain = _Entry(owner, self._expression, None)
            return self._plain
        key = tuple(_splice(x) or type_of(x) for x in xs)
        if key not in self._entries:
            self._entries[key] = _Entry(owner, _applied(self._expression, xs, key), None)
        return self._entries[key]

    def __call__(self, *xs, **by_name):
        owner = self._owner
        with owner._lock:
            if owner._dead:
                owner._release_dead()
            if by_name:
                xs = self._in_order(xs, by_name)
            e = self._plain
            if e is None:
                e = self._entry(xs)
                xs = xs if e is self._plain else tuple(x for x in xs if not isinstance(x, Function))
            return e.call(xs)

    def _in_order(self, xs, by_name):
        names = self._names()
        rest = [n for n in names[len(xs):] if n in by_name]
        if len(rest) != len(by_name) or names[len(xs):] != rest:
            raise TypeError(f"{self._expression} has the parameters {', '.join(n or '_' for n in names)}")
        return (*xs, *(by_name[n] for n in rest))

    def _names(self):
        with self._owner._lock:
            return self._entry(()).names

    @property
    def __doc__(self):
        with self._owner._lock:
            text = ctypes.c_char_p()
            if _lib.atled_doc(self._owner._vm, self._expression.encode(), ctypes.byref(text)) != c.OK:
                return self._owner.type_of(self._expression)
            return text.value.decode().rstrip("\n")

    def __repr__(self):
        return f"<Atled function {self._expression} : {self._owner.type_of(self._expression)}>"


def _splice(x):
    """The source of an argument that is a function itself: it becomes a part of the expression."""
    return f"({x._expression})" if isinstance(x, Function) else None


def _applied(expression, xs, key):
    names = [f"a{i}" for i in range(len(xs))]
    params = " ".join(f"({n} : {k})" for n, k, x in zip(names, key, xs) if not isinstance(x, Function))
    values = " ".join(k if isinstance(x, Function) else n for n, k, x in zip(names, key, xs))
    return f"fun {params} -> ({expression}) {values}" if params else f"({expression}) {values}"


# ---- Derivatives ------------------------------------------------------------------------------------------
class _Derivative(Function):
    """An operator applied to a function, seen as one of the arguments argnums; its expression depends on their number."""

    def __init__(self, operator, f, argnums, extra=0):
        if not isinstance(f, Function):
            raise TypeError(f"a function of Atled is needed, not {type(f).__name__}")
        super().__init__(f._owner, f"{operator.partition(' ')[0]} ({f._expression})")
        self._operator, self._of, self._argnums, self._extra, self._by_count = operator, f, argnums, extra, {}

    def _with(self, count):
        """As a Function of so many arguments."""
        if count not in self._by_count:
            n = count - self._extra
            chosen = (self._argnums,) if isinstance(self._argnums, int) else tuple(self._argnums)
            if any(not -n <= k < n for k in chosen):
                raise TypeError(f"argnums {self._argnums} of {n} arguments")
            chosen = [k % n for k in chosen]
            inner = " ".join(f"t{k}" if k in chosen else f"a{k}" for k in range(n))
            t = ", ".join(f"t{k}" for k in chosen)
            a = ", ".join(f"a{k}" for k in chosen)
            of = f"(fun ({t}) -> ({self._of_expression(n)}) {inner})"
            params = " ".join([f"a{k}" for k in range(n)] + [f"d{k}" for k in range(self._extra)])
            self._by_count[count] = Function(self._owner, f"fun {params} -> " + self._operator.format(f=of, x=f"({a})"))
        return self._by_count[count]

    def _of_expression(self, n):
        of = self._of
        return of._with(n)._expression if isinstance(of, _Derivative) else of._expression

    def __call__(self, *xs, **by_name):
        if by_name:
            xs = self._of._in_order(xs, by_name)
        return self._with(len(xs))(*xs)

    def _entry(self, xs):
        return self._with(len(xs))._entry(xs)

    def __repr__(self):
        return f"<Atled function {self._expression}>"


def grad(f, argnums=0):
    """The gradient of a function to a float, by the argument at argnums, or a tuple of them: of that argument's type."""
    return _Derivative("grad {f} {x}", f, argnums)


def value_and_grad(f, argnums=0):
    """(value, gradient)."""
    return _Derivative("value_and_grad {f} {x}", f, argnums)


def vjp(f, argnums=0):
    """A function of f's arguments and a cotangent of its result: (value, cotangent of the arguments at argnums)."""
    return _Derivative("(let (y, back) = vjp {f} {x} in (y, back d0))", f, argnums, 1)


def jvp(f, argnums=0):
    """A function of f's arguments and a direction of those at argnums: (value, derivative in that direction)."""
    return _Derivative("jvp {f} {x} d0", f, argnums, 1)


def hvp(f, argnums=0):
    """A function of f's arguments and a direction: the Hessian times the direction."""
    return _Derivative("hvp {f} {x} d0", f, argnums, 1)


def jacobian(f, argnums=0):
    """The matrix of the derivatives of a function of a vector to a vector."""
    return _Derivative("jacobian {f} {x}", f, argnums)


def hessian(f, argnums=0):
    """The matrix of the second derivatives of a function of a vector to a float."""
    return _Derivative("hessian {f} {x}", f, argnums)
