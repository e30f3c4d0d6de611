"""Writes down what a process, its threads and its children do to the files of a folder.

    python recorder.py LOG FOLDER -- nomospace ARGUMENTS…

The process is an ordinary one: nothing in it is replaced. The kernel stops it at each call that
changes a file or sends bytes to a socket (a seccomp filter picks those calls, `ptrace` tells of
them), so SQLite's writes are seen as well as Python's and Arrow's, and in the order in which they
were made. That needs neither a compiler nor `strace`, and no rights besides those that a parent has
over its child. A VFS of SQLite would see SQLite only, and not that of the `sqlite3` module; a wrap
around `os.fsync` would see neither SQLite nor Arrow.

LOG has tuples, one after the other, as `marshal` writes them; each begins with its moment
(`time.monotonic_ns`) and its kind:

| kind | what follows |
| --- | --- |
| `new` | inode, path: a file or folder appeared |
| `write` | inode, offset, bytes |
| `cut` | inode, size |
| `sync` | inode, the moment when the call began: what was written before that is on disk |
| `rename`, `unlink` | path (and the new one) |
| `sent` | nothing: bytes are about to leave through a socket |
| `unseen` | path, call: something that this program does not follow |

All are written down when the call has been done, but for `sent`, which comes before.
"""

# It looks at files of /proc by their names.
# ruff: noqa: PTH110, PTH115, PTH116, PTH118, PTH123

from __future__ import annotations

import ctypes
import errno
import marshal
import os
import platform
import signal
import struct
import sys
import time
from collections.abc import Callable
from typing import Any, Final

_CALLS: Final = {
    "x86_64": """
        write=1 open=2 mmap=9 pwrite64=18 writev=20 sendfile=40 sendto=44 sendmsg=46 fsync=74
        fdatasync=75 truncate=76 ftruncate=77 rename=82 mkdir=83 rmdir=84 creat=85 link=86 unlink=87
        symlink=88 openat=257 mkdirat=258 unlinkat=263 renameat=264 linkat=265 symlinkat=266
        splice=275 sync_file_range=277 fallocate=285 pwritev=296 sendmmsg=307 renameat2=316
        copy_file_range=326 pwritev2=328 openat2=437
    """,
    "aarch64": """
        mkdirat=34 unlinkat=35 symlinkat=36 linkat=37 renameat=38 truncate=45 ftruncate=46
        fallocate=47 openat=56 write=64 writev=66 pwrite64=68 pwritev=70 sendfile=71 splice=76
        fsync=82 fdatasync=83 sync_file_range=84 sendto=206 sendmsg=211 mmap=222 sendmmsg=269
        renameat2=276 copy_file_range=285 pwritev2=287 openat2=437
    """,
}
"""By machine: the numbers of the calls that are looked at."""
_MACHINES: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""What seccomp calls them."""
_TRACEME, _CONT, _SYSCALL, _SETOPTIONS, _INFO = 0, 7, 24, 0x4200, 0x420E
_SECCOMP_EVENT: Final = 7
_OPTIONS: Final = 0x1 | 0x2 | 0x4 | 0x8 | 0x10 | 0x80 | 0x100000
"""Calls are told from signals; forks, threads and programs are followed; all end with this."""
_WALL: Final = 0x40000000
_NO_NEW_PRIVS, _SECCOMP, _FILTER = 38, 22, 2
_AT_FDCWD: Final = -100
_RETURN_TRACE, _RETURN_ALLOW = 0x7FF00000, 0x7FFF0000
_RETURN_UNKNOWN: Final = 0x00050000 | errno.ENOSYS
_IO_URING: Final = 425
"""A way past all calls, on every machine: the kernel is told to know none."""
_SHARED, _WRITABLE = 0x1, 0x2

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


def _ptrace(what: int, pid: int, address: int = 0, data: Any = 0) -> int:
    found = int(_libc.ptrace(what, pid, address, data))
    if found < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return found


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def _install(machine: int, numbers: list[int]) -> None:
    """Have the kernel stop this process at these calls."""
    op = struct.Struct("<HBBI").pack
    code = [op(0x20, 0, 0, 4), op(0x15, 0, len(numbers) + 2, machine), op(0x20, 0, 0, 0)]
    code += [op(0x15, len(numbers) + 2, 0, _IO_URING)]
    code += [op(0x15, len(numbers) - at, 0, number) for at, number in enumerate(numbers)]
    code += [op(0x06, 0, 0, word) for word in (_RETURN_ALLOW, _RETURN_TRACE, _RETURN_UNKNOWN)]
    program = _Program(len(code), b"".join(code))
    for call in ((_NO_NEW_PRIVS, 1, 0, 0, 0), (_SECCOMP, _FILTER, ctypes.byref(program), 0, 0)):
        if _libc.prctl(*call):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))


class Recorder:
    """Follows one process and all that it starts."""

    def __init__(self, log: str, folder: str) -> None:
        self._machine = _MACHINES[platform.machine()]
        pairs = [one.split("=") for one in _CALLS[platform.machine()].split()]
        self._names = {int(number): name for name, number in pairs}
        self._log = open(log, "wb")  # noqa: SIM115 (for as long as this process lives)
        self._folder = os.path.realpath(folder)
        self._under_way: dict[int, Callable[[int], None]] = {}
        self._known: set[int] = set()

    def run(self, program: list[str]) -> int:
        """Run a program to its end; gives its exit code."""
        child = os.fork()
        if not child:
            self._be(program)
        os.waitpid(child, _WALL)
        self._known.add(child)
        _ptrace(_SETOPTIONS, child, 0, _OPTIONS)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, _: os.kill(child, number))
        _ptrace(_CONT, child)
        code = 0
        while True:
            try:
                pid, status = os.waitpid(-1, _WALL)
            except ChildProcessError:
                self._log.close()
                return code
            if os.WIFSTOPPED(status):
                try:
                    self._stopped(pid, status)
                except ProcessLookupError:
                    continue  # killed while it stood still
            else:
                self._known.discard(pid)
                self._under_way.pop(pid, None)
                if pid == child:
                    code = os.waitstatus_to_exitcode(status)
                    code = 128 - code if code < 0 else code

    def _be(self, program: list[str]) -> None:
        try:
            _ptrace(_TRACEME, 0)
            os.kill(os.getpid(), signal.SIGSTOP)
            _install(self._machine, list(self._names))
            os.execv(program[0], program)
        except OSError as error:
            os.write(2, f"cannot be recorded: {error}\n".encode())
        os._exit(127)

    def _stopped(self, pid: int, status: int) -> None:
        number, event = os.WSTOPSIG(status), status >> 16
        if event == _SECCOMP_EVENT:
            self._begun(pid)
        elif number == signal.SIGTRAP | 0x80:
            done = self._under_way.pop(pid, None)
            if done is not None:
                result = struct.unpack_from("<q", self._info(pid), 24)[0]
                if result >= 0:
                    done(result)
            _ptrace(_CONT, pid)
        elif pid not in self._known:
            self._known.add(pid)  # a new thread or process begins with a stop of its own
            _ptrace(_CONT, pid)
        else:
            _ptrace(_CONT, pid, 0, 0 if event else number)

    def _info(self, pid: int) -> bytes:
        told = ctypes.create_string_buffer(88)
        _ptrace(_INFO, pid, 88, ctypes.cast(told, ctypes.c_void_p))
        return told.raw

    def _begun(self, pid: int) -> None:
        number, *given = struct.unpack_from("<7Q", self._info(pid), 24)
        done = None
        try:
            done = getattr(self, "_" + self._names[number])(pid, *given)
        except OSError as error:
            if error.errno == errno.ESRCH:
                raise
        if done is None:
            _ptrace(_CONT, pid)
        else:
            self._under_way[pid] = done
            _ptrace(_SYSCALL, pid)

    # -- looking into the process ----------------------------------------------------------------

    def _note(self, kind: str, *facts: Any) -> None:
        marshal.dump((time.monotonic_ns(), kind, *facts), self._log)

    def _bytes(self, pid: int, at: int, size: int) -> bytes:
        memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
        try:
            parts = []
            while size:
                part = os.pread(memory, min(size, 1 << 20), at)
                parts.append(part)
                at, size = at + len(part), size - len(part)
            return b"".join(parts)
        finally:
            os.close(memory)

    def _path(self, pid: int, folder: int, at: int) -> str:
        """The path of a call's arguments, if it is in the folder; else nothing."""
        read = b""
        while b"\0" not in read:  # up to the end of a page: the next one may not be there
            read += self._bytes(pid, at + len(read), 4096 - (at + len(read)) % 4096)
        name = os.fsdecode(read.partition(b"\0")[0])
        folder = ctypes.c_int(folder).value
        base = f"/proc/{pid}/cwd" if folder == _AT_FDCWD else f"/proc/{pid}/fd/{folder}"
        where = name if name.startswith("/") else os.path.join(os.readlink(base), name)
        parent, last = os.path.split(os.path.normpath(where))
        return self._inside(os.path.join(os.path.realpath(parent), last))

    def _inside(self, path: str) -> str:
        return path if path == self._folder or path.startswith(self._folder + "/") else ""

    def _open_file(self, pid: int, fd: int) -> tuple[str, int]:
        """The path and inode of what is open; no path, if it is not in the folder."""
        fd = ctypes.c_int(fd).value
        path = os.readlink(f"/proc/{pid}/fd/{fd}").removesuffix(" (deleted)")
        path = self._inside(path)
        return path, os.stat(f"/proc/{pid}/fd/{fd}").st_ino if path else 0

    # -- calls: each says what to do when it is done ---------------------------------------------

    def _write(self, pid: int, fd: int, at: int, *_: int) -> Callable[[int], None] | None:
        link = os.readlink(f"/proc/{pid}/fd/{ctypes.c_int(fd).value}")
        if link.startswith("socket:"):
            self._note("sent")
            return None
        path, inode = self._open_file(pid, fd)
        if not path:
            return None

        def done(count: int) -> None:
            with open(f"/proc/{pid}/fdinfo/{fd}") as told:
                after = int(told.readline().split()[1])
            self._note("write", inode, after - count, self._bytes(pid, at, count))

        return done

    def _pwrite64(
        self, pid: int, fd: int, at: int, _: int, place: int, *__: int
    ) -> Callable[[int], None] | None:
        path, inode = self._open_file(pid, fd)
        if not path:
            return None
        return lambda count: self._note("write", inode, place, self._bytes(pid, at, count))

    def _sendto(self, pid: int, *_: int) -> None:
        self._note("sent")

    _sendmsg = _sendmmsg = _sendto

    def _writev(self, pid: int, fd: int, vector: int, count: int, *_: int) -> Any:
        link = os.readlink(f"/proc/{pid}/fd/{ctypes.c_int(fd).value}")
        if link.startswith("socket:"):
            self._note("sent")
            return None
        path, inode = self._open_file(pid, fd)
        if not path:
            return None

        def done(written: int) -> None:
            with open(f"/proc/{pid}/fdinfo/{fd}") as told:
                after = int(told.readline().split()[1])
            parts = struct.unpack(f"<{2 * count}Q", self._bytes(pid, vector, 16 * count))
            pairs = zip(parts[::2], parts[1::2], strict=True)
            data = b"".join([self._bytes(pid, *pair) for pair in pairs])
            self._note("write", inode, after - written, data[:written])

        return done

    def _fsync(self, pid: int, fd: int, *_: int) -> Callable[[int], None] | None:
        path, inode = self._open_file(pid, fd)
        began = time.monotonic_ns()
        return (lambda _: self._note("sync", inode, began)) if path else None

    _fdatasync = _fsync

    def _ftruncate(self, pid: int, fd: int, size: int, *_: int) -> Callable[[int], None] | None:
        path, inode = self._open_file(pid, fd)
        return (lambda _: self._note("cut", inode, size)) if path else None

    def _truncate(self, pid: int, at: int, size: int, *_: int) -> Callable[[int], None] | None:
        path = self._path(pid, _AT_FDCWD, at)
        return (lambda _: self._note("cut", os.stat(path).st_ino, size)) if path else None

    def _openat(
        self, pid: int, folder: int, at: int, flags: int, *_: int
    ) -> Callable[[int], None] | None:
        if not flags & (os.O_CREAT | os.O_TRUNC):
            return None
        path = self._path(pid, folder, at)
        if not path:
            return None
        was = os.path.exists(path)

        def done(fd: int) -> None:
            inode = os.stat(f"/proc/{pid}/fd/{fd}").st_ino
            if not was:
                self._note("new", inode, path)
            elif flags & os.O_TRUNC:
                self._note("cut", inode, 0)

        return done

    def _open(self, pid: int, at: int, flags: int, *_: int) -> Callable[[int], None] | None:
        return self._openat(pid, _AT_FDCWD, at, flags)

    def _creat(self, pid: int, at: int, *_: int) -> Callable[[int], None] | None:
        return self._openat(pid, _AT_FDCWD, at, os.O_CREAT | os.O_TRUNC)

    def _openat2(self, pid: int, *_: int) -> None:
        self._note("unseen", "", "openat2")

    def _mkdirat(self, pid: int, folder: int, at: int, *_: int) -> Callable[[int], None] | None:
        path = self._path(pid, folder, at)
        return (lambda _: self._note("new", os.stat(path).st_ino, path)) if path else None

    def _mkdir(self, pid: int, at: int, *_: int) -> Callable[[int], None] | None:
        return self._mkdirat(pid, _AT_FDCWD, at)

    def _unlinkat(self, pid: int, folder: int, at: int, *_: int) -> Callable[[int], None] | None:
        path = self._path(pid, folder, at)
        return (lambda _: self._note("unlink", path)) if path else None

    def _unlink(self, pid: int, at: int, *_: int) -> Callable[[int], None] | None:
        return self._unlinkat(pid, _AT_FDCWD, at)

    _rmdir = _unlink

    def _renameat(
        self, pid: int, folder: int, at: int, to_folder: int, to: int, *_: int
    ) -> Callable[[int], None] | None:
        path, new = self._path(pid, folder, at), self._path(pid, to_folder, to)
        if not path and not new:
            return None
        return lambda _: self._note("rename", path, new)

    _renameat2 = _renameat

    def _rename(self, pid: int, at: int, to: int, *_: int) -> Callable[[int], None] | None:
        return self._renameat(pid, _AT_FDCWD, at, _AT_FDCWD, to)

    def _linkat(
        self, pid: int, folder: int, at: int, to_folder: int, to: int, *_: int
    ) -> Callable[[int], None] | None:
        new = self._path(pid, to_folder, to)
        return (lambda _: self._note("new", os.stat(new).st_ino, new)) if new else None

    def _link(self, pid: int, at: int, to: int, *_: int) -> Callable[[int], None] | None:
        return self._linkat(pid, _AT_FDCWD, at, _AT_FDCWD, to)

    def _mmap(self, pid: int, _: int, __: int, rights: int, flags: int, fd: int, *___: int) -> None:
        if flags & _SHARED and rights & _WRITABLE and ctypes.c_int(fd).value >= 0:
            path, _inode = self._open_file(pid, fd)
            if path:
                self._note("unseen", path, "mmap")

    def _unfollowed(self, call: str, place: int) -> Any:
        def begun(pid: int, *given: int) -> None:
            path, _ = self._open_file(pid, given[place])
            if path:
                self._note("unseen", path, call)

        return begun

    def __getattr__(self, name: str) -> Any:
        """Calls that change files in ways which nothing here has needed so far."""
        places = {"_sendfile": 0, "_copy_file_range": 2, "_splice": 2, "_fallocate": 0}
        places |= {"_pwritev": 0, "_pwritev2": 0, "_sync_file_range": 0}
        if name in places:
            return self._unfollowed(name[1:], places[name])
        if name in ("_symlink", "_symlinkat"):
            return lambda *_: self._note("unseen", "", name[1:])
        raise AttributeError(name)


if __name__ == "__main__":
    given, log, folder, *program = sys.argv
    sys.exit(Recorder(log, folder).run(program))
