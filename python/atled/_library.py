# SPDX-License-Identifier: MIT
"""The C library: where it is, its structures and prototypes as ctypes has them. They follow include/atled.h.

The library is looked for in this order: the file that ATLED_LIBRARY names, the package's own folder `lib` (wheels), the
build folder of a checkout, and what the system's loader finds by its name."""
import ctypes
import os
import pathlib

SONAME = "libatled.so.1"
OK, COMPILE_ERROR, RUNTIME_ERROR, INCOMPLETE, BAD_ARGUMENT, NO_MEMORY, TEST_FAILURE, EXIT = range(8)
JIT = "auto", "off", "always"
TRAPS = "off", "nan", "inf"
STUDY_WHY, STUDY_COST = range(2)
UNIT, BOOL, INT, FLOAT, STRING, ARRAY, TUPLE, RECORD, VARIANT, LIST, OTHER = range(11)
MAX_RANK = 8


class Text(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char_p), ("length", ctypes.c_size_t)]


class As(ctypes.Union):
    """`data` is the same word as all of the header's pointers."""
    _fields_ = [("boolean", ctypes.c_bool), ("integer", ctypes.c_int64), ("number", ctypes.c_double), ("data", ctypes.c_void_p)]


class Value(ctypes.Structure):
    _anonymous_ = ["as_"]
    _fields_ = [("kind", ctypes.c_int), ("element", ctypes.c_int), ("rank", ctypes.c_int), ("tag", ctypes.c_int),
                ("length", ctypes.c_size_t), ("as_", As), ("name", ctypes.c_char_p), ("names", ctypes.c_void_p),
                ("strides", ctypes.c_void_p), ("dims", ctypes.c_int64 * MAX_RANK), ("reserved", ctypes.c_void_p * 3)]


class TypeTree(ctypes.Structure):
    pass


TypeTree._fields_ = [("kind", ctypes.c_int), ("rank", ctypes.c_int), ("count", ctypes.c_int),
                     ("parts", ctypes.POINTER(ctypes.POINTER(TypeTree))), ("names", ctypes.POINTER(ctypes.c_char_p)),
                     ("name", ctypes.c_char_p), ("shown_as", ctypes.c_char_p)]


class Parameter(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("text", ctypes.c_char_p), ("type", ctypes.POINTER(TypeTree)),
                ("reserved", ctypes.c_void_p * 2)]


class Signature(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char_p), ("doc", ctypes.c_char_p), ("arity", ctypes.c_int),
                ("parameters", ctypes.POINTER(Parameter)), ("result", Parameter)]


class Result(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class View(ctypes.Structure):
    _fields_ = [("columns", ctypes.c_int), ("lines", ctypes.c_int), ("used", ctypes.c_int), ("digits", ctypes.c_int)]


class About(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_char_p), ("type", ctypes.c_char_p), ("doc", ctypes.c_char_p), ("file", ctypes.c_char_p),
                ("line", ctypes.c_int), ("source", ctypes.c_char_p)]


class Query(ctypes.Structure):
    _fields_ = [("question", ctypes.c_int), ("name", ctypes.c_char_p), ("source", ctypes.c_char_p), ("at", ctypes.c_size_t),
                ("to", ctypes.c_size_t), ("file", ctypes.c_char_p)]


ASK_WORDS = 4


class Display(ctypes.Structure):
    _fields_ = [("media_type", ctypes.c_char_p), ("data", ctypes.c_void_p), ("length", ctypes.c_size_t),
                ("text", ctypes.c_void_p), ("text_length", ctypes.c_size_t)]


class Bench(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("line", ctypes.c_int), ("best", ctypes.c_double), ("median", ctypes.c_double),
                ("spread", ctypes.c_double), ("runs", ctypes.c_int64), ("message", ctypes.c_char_p)]


OUTPUT = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
INPUT = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, use_errno=True)
DISPLAY = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.POINTER(Display))
TEST_REPORT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p)
BENCH_REPORT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Bench))


class Config(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("allocate", ctypes.c_void_p), ("memory_limit", ctypes.c_size_t),
                ("stack_size", ctypes.c_size_t), ("time_limit", ctypes.c_double), ("write", ctypes.c_void_p), ("output", OUTPUT),
                ("errors_on_terminal", ctypes.c_bool), ("flush", ctypes.c_void_p), ("input", INPUT),
                ("diagnostic", ctypes.c_void_p), ("compiling", ctypes.c_void_p), ("user", ctypes.c_void_p), ("jit", ctypes.c_int),
                ("jit_in_process", ctypes.c_bool), ("jit_memory", ctypes.c_size_t), ("jit_time", ctypes.c_double),
                ("cache_size", ctypes.c_int64), ("strict", ctypes.c_bool), ("no_stdlib", ctypes.c_bool), ("phases", ctypes.c_bool),
                ("colour", ctypes.c_bool), ("args", ctypes.c_void_p), ("nargs", ctypes.c_int),
                ("folders", ctypes.c_void_p), ("nfolders", ctypes.c_int), ("rights", ctypes.c_uint), ("module", ctypes.c_void_p),
                ("cache_folder", ctypes.c_char_p), ("source_limit", ctypes.c_size_t), ("output_limit", ctypes.c_size_t),
                ("cpu", ctypes.c_int), ("nesting_limit", ctypes.c_int), ("node_limit", ctypes.c_size_t),
                ("compile_time", ctypes.c_double), ("compile_memory", ctypes.c_size_t),
                ("threads", ctypes.c_int), ("flush_subnormals", ctypes.c_bool), ("display", DISPLAY),
                ("trap", ctypes.c_int)]


# As the header calls these structures.
STRUCTURES = {"AtledText": Text, "AtledValue": Value, "AtledTypeTree": TypeTree, "AtledParameter": Parameter,
              "AtledSignature": Signature, "AtledConfig": Config, "AtledResult": Result, "AtledView": View,
              "AtledAbout": About, "AtledDisplay": Display, "AtledBench": Bench}


class Diagnostic(ctypes.Structure):
    """The beginning of AtledDiagnostic; later versions of the library have more behind it."""
    _fields_ = [("severity", ctypes.c_int), ("kind", ctypes.c_char_p), ("message", ctypes.c_char_p), ("file", ctypes.c_char_p),
                ("line", ctypes.c_int), ("column", ctypes.c_int), ("rendered", ctypes.c_char_p)]


def _candidates():
    here = pathlib.Path(__file__).resolve().parent
    if os.environ.get("ATLED_LIBRARY"):
        return [os.environ["ATLED_LIBRARY"]]
    files = here / "lib" / SONAME, here.parents[1] / "build/lib" / SONAME
    return [*map(str, filter(pathlib.Path.exists, files)), SONAME]


def _open():
    errors = []
    for path in _candidates():
        try:
            return ctypes.CDLL(path)
        except OSError as e:
            errors.append(str(e))
    raise ImportError("can't load Atled's library; ATLED_LIBRARY may name it: " + "; ".join(errors))


lib = _open()
_VOID, _TEXT, _INT = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
_VALUES = ctypes.c_void_p  # an address, which costs less to hand over than a ctypes pointer
_TEXTS = ctypes.POINTER(ctypes.POINTER(_TEXT))
for _name, _result, *_args in [
        ("atled_config_init_sized", None, ctypes.POINTER(Config), ctypes.c_size_t),
        ("atled_new", _VOID, ctypes.POINTER(Config)),
        ("atled_free", None, _VOID),
        ("atled_version", _TEXT),
        ("atled_eval", _INT, _VOID, _TEXT, _TEXT),
        ("atled_eval_file", _INT, _VOID, _TEXT),
        ("atled_error", ctypes.POINTER(Diagnostic), _VOID),
        ("atled_exit_status", _INT, _VOID),
        ("atled_interrupt", None, _VOID),
        ("atled_names", _INT, _VOID, _TEXT, _TEXTS),
        ("atled_enter", _INT, _VOID, _TEXT, _TEXT),
        ("atled_check", _INT, _VOID, _TEXT, _TEXT),
        ("atled_test", _INT, _VOID, _TEXT, _TEXT, TEST_REPORT, _VOID),
        ("atled_bench", _INT, _VOID, _TEXT, _TEXT, BENCH_REPORT, _VOID),
        ("atled_items", _INT, _VOID, _TEXT, ctypes.POINTER(ctypes.POINTER(ctypes.c_size_t)), ctypes.POINTER(_INT)),
        ("atled_result_count", _INT, _VOID),
        ("atled_result_view_sized", ctypes.c_bool, _VOID, _INT, ctypes.POINTER(View), ctypes.c_size_t,
         ctypes.POINTER(Result), ctypes.c_size_t),
        ("atled_complete", _INT, _VOID, _TEXT, ctypes.POINTER(ctypes.c_size_t), _TEXTS),
        ("atled_about_sized", _INT, _VOID, _TEXT, ctypes.POINTER(About), ctypes.c_size_t),
        ("atled_query_sized", _INT, _VOID, ctypes.POINTER(Query), ctypes.c_size_t, ctypes.POINTER(_TEXT)),
        ("atled_search", _INT, _VOID, _TEXT, _TEXTS, ctypes.POINTER(_INT)),
        ("atled_ir", _INT, _VOID, _TEXT, _TEXT, _INT, ctypes.c_bool, _TEXT, ctypes.POINTER(_TEXT)),
        ("atled_undo", _INT, _VOID, _TEXTS),
        ("atled_diagnostic_count", _INT, _VOID),
        ("atled_diagnostic", ctypes.POINTER(Diagnostic), _VOID, _INT),
        ("atled_clear_interrupt", None, _VOID),
        ("atled_set_jit", _INT, _VOID, _INT),
        ("atled_set_trap", _INT, _VOID, _INT),
        ("atled_derivative_source", _INT, _VOID, _TEXT, _TEXT, _TEXT, ctypes.POINTER(_TEXT)),
        ("atled_study", _INT, _VOID, _INT, _TEXT, ctypes.POINTER(_TEXT)),
        ("atled_set_colour", _INT, _VOID, ctypes.c_bool),
        ("atled_type", _INT, _VOID, _TEXT, ctypes.POINTER(_TEXT)),
        ("atled_doc", _INT, _VOID, _TEXT, ctypes.POINTER(_TEXT)),
        ("atled_get", _INT, _VOID, _TEXT, _TEXT, ctypes.POINTER(_VOID)),
        ("atled_release", None, _VOID),
        ("atled_call", _INT, _VOID, _VALUES, _INT, _VALUES),
        ("atled_call_double", _INT, _VOID, _VALUES, _INT, _VALUES),
        ("atled_keep", _INT, _VOID, ctypes.POINTER(_VOID)),
        ("atled_drop", None, _VOID),
        ("atled_signature", _INT, _VOID, ctypes.POINTER(ctypes.POINTER(Signature)))]:
    _f = getattr(lib, _name)
    _f.restype, _f.argtypes = _result, _args
