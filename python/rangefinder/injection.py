"""An NVTX client by ctypes: what the header `nvtx3` does in a C program.

The tool is the library that `NVTX_INJECTION64_PATH` names. It is handed a table of empty
slots and writes its functions into them. Without that variable, `libnvToolsExt` is the client.
"""

import ctypes
import os
import struct

_SLOTS = 16
# CORE, CUDA, OPENCL, CUDART, CORE2, SYNC, and how many slots a C program has of each, the first, which is not
# used, included. We call only functions of CORE2; nsys wants to see CORE as well, and ncu all.
_MODULES = {1: 16, 2: 9, 3: 15, 4: 7, 5: 16, 6: 7}
_CORE2 = 5
_CALLBACKS, _VERSION = 1, 3
_ASCII, _REGISTERED = 1, 3
_INT64 = 2
# Tools keep registered names for ever, and so do we: a server with a name for each request goes on without.
_MOST_NAMES = 1000

# name: slot in the module CORE2, result, arguments
_POINTER = ctypes.c_void_p
_FUNCTIONS = {
    "nvtxDomainRangeStartEx": (2, ctypes.c_uint64, [_POINTER, _POINTER]),
    "nvtxDomainRangeEnd": (3, None, [_POINTER, ctypes.c_uint64]),
    "nvtxDomainRangePushEx": (4, ctypes.c_int, [_POINTER, _POINTER]),
    "nvtxDomainRangePop": (5, ctypes.c_int, [_POINTER]),
    "nvtxDomainRegisterStringA": (10, _POINTER, [_POINTER, ctypes.c_char_p]),
    "nvtxDomainCreateA": (12, _POINTER, [ctypes.c_char_p]),
}


class _Attributes(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint16),
        ("size", ctypes.c_uint16),
        ("category", ctypes.c_uint32),
        ("colour_type", ctypes.c_int32),
        ("colour", ctypes.c_uint32),
        ("payload_type", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("payload", ctypes.c_int64),
        ("message_type", ctypes.c_int32),
        # The structure keeps alive what is assigned here, for as long as the call takes.
        ("message", ctypes.c_char_p),
    ]


_MODULE_TABLE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_uint32, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint32)
)
_EXPORT_TABLE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)


class _Callbacks(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("module_table", _MODULE_TABLE)]


_SET_VERSION = ctypes.CFUNCTYPE(None, ctypes.c_uint32)


class _Version(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("version", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("set_version", _SET_VERSION),
    ]


# What a tool was given stays where it is for as long as the process lives.
_kept = []


def _functions_of_tool(path):
    """Lets the tool at `path` fill a table of ours; a dict of its functions, or None."""
    slots = {module: (ctypes.c_void_p * _SLOTS)() for module in _MODULES}
    places = {module: _places(slots[module]) for module in slots}

    def module_table(module, table, size):
        if module not in places:
            return 0
        if table:
            table[0] = ctypes.addressof(places[module])
        if size:
            size[0] = _MODULES[module]
        return 1

    callbacks = _Callbacks(ctypes.sizeof(_Callbacks), _MODULE_TABLE(module_table))
    version = _Version(ctypes.sizeof(_Version), 3, 0, _SET_VERSION(lambda of_tool: None))

    def export_table(number):
        table = {_CALLBACKS: callbacks, _VERSION: version}.get(number)
        return None if table is None else ctypes.addressof(table)

    export = _EXPORT_TABLE(export_table)
    library = ctypes.CDLL(path)
    _kept.append((slots, places, callbacks, version, export, library))
    start = library.InitializeInjectionNvtx2
    start.argtypes, start.restype = [_EXPORT_TABLE], ctypes.c_int
    if not start(export):
        return None
    filled = slots[_CORE2]
    return {
        name: ctypes.CFUNCTYPE(result, *arguments)(filled[slot]) if filled[slot] else None
        for name, (slot, result, arguments) in _FUNCTIONS.items()
    }


def _places(slots):
    """For each slot its address; the first is not used, the last is null."""
    places = (ctypes.c_void_p * (_SLOTS + 1))()
    for at in range(1, _SLOTS):
        places[at] = ctypes.addressof(slots) + at * ctypes.sizeof(ctypes.c_void_p)
    return places


def _functions_of_library():
    library = ctypes.CDLL("libnvToolsExt.so.1")
    found = {}
    for name, (_, result, arguments) in _FUNCTIONS.items():
        found[name] = getattr(library, name)
        found[name].restype, found[name].argtypes = result, arguments
    return found


class Injection:
    """Ranges with domains and payloads, their names registered."""

    name = "ctypes"
    rich = True

    def __init__(self, functions):
        self._push = functions["nvtxDomainRangePushEx"]
        self._pop = functions["nvtxDomainRangePop"]
        self._start = functions["nvtxDomainRangeStartEx"]
        self._end = functions["nvtxDomainRangeEnd"]
        self._register = functions["nvtxDomainRegisterStringA"]
        self._create = functions["nvtxDomainCreateA"]
        self._domains = {None: None}
        self._names = {}

    @classmethod
    def open(cls):
        """The client, or None where there is no tool and no library."""
        width = struct.calcsize("P") * 8
        path = os.environ.get("NVTX_INJECTION%d_PATH" % width)
        try:
            functions = _functions_of_tool(path) if path else _functions_of_library()
        except (OSError, AttributeError):
            return None
        if not functions or not (functions["nvtxDomainRangePushEx"] and functions["nvtxDomainRangePop"]):
            return None
        return cls(functions)

    def push(self, name, domain, payload):
        handle = self._domain(domain)
        self._push(handle, ctypes.byref(self._attributes(name, handle, payload)))
        return handle

    def pop(self, handle):
        self._pop(handle)

    def start(self, name, domain, payload):
        handle = self._domain(domain)
        if not self._start:
            return None
        return handle, self._start(handle, ctypes.byref(self._attributes(name, handle, payload)))

    def end(self, token):
        if token and self._end:
            self._end(*token)

    def _domain(self, name):
        if name not in self._domains:
            self._domains[name] = self._create(name.encode()) if self._create else None
        return self._domains[name]

    def _attributes(self, name, domain, payload):
        attributes = _Attributes(version=3, size=ctypes.sizeof(_Attributes))
        attributes.message_type, attributes.message = self._message(domain, name)
        if payload is not None:
            attributes.payload_type, attributes.payload = _INT64, payload
        return attributes

    def _message(self, domain, name):
        """The type and the pointer of a name: registered, or as text that the tool copies."""
        found = self._names.get((domain, name))
        if found is None:
            if not self._register or len(self._names) >= _MOST_NAMES:
                return _ASCII, name.encode()
            found = self._register(domain, name.encode())
            self._names[(domain, name)] = found or 0
        return (_REGISTERED, found) if found else (_ASCII, name.encode())
