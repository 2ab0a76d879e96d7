"""A disk whose power may be cut: what was not synced survives or not, sector by sector, at random."""

import random
from pathlib import Path

import apsw

SECTOR = 512


class PowerCutError(apsw.IOError):
    """The disk does not answer any more."""


class Disk:
    """Files in memory: as programs see them, and as they are for certain after a loss of power."""

    def __init__(self, rng: random.Random) -> None:
        self.current: dict[str, bytearray] = {}
        self.synced: dict[str, bytes] = {}
        self._rng = rng
        self._left: int | None = None
        self.survivors: dict[str, bytes] | None = None
        self.fail_syncs = False

    def cut_within(self, steps: int) -> None:
        """Let the power go off after so many writes and syncs."""
        self._left = steps

    def step(self) -> None:
        """Count a write, a sync or the like; the power goes off with the last one."""
        if self.survivors is not None:
            raise PowerCutError
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                self.cut()
                raise PowerCutError

    def cut(self) -> None:
        """Let the power go off now."""
        self.survivors = {name: self._surviving(name) for name in self.current}

    def _surviving(self, name: str) -> bytes:
        now, before = bytes(self.current[name]), self.synced.get(name, b"")
        size = len(now) if self._rng.random() < 0.5 else len(before)
        found = bytearray(size)
        for start in range(0, size, SECTOR):
            version = now if self._rng.random() < 0.5 else before
            part = version[start : start + SECTOR][: size - start]
            found[start : start + len(part)] = part
        return bytes(found)

    def write_to(self, folder: Path) -> None:
        """Put what survived into real files."""
        assert self.survivors is not None
        for name, data in self.survivors.items():
            (folder / Path(name).name).write_bytes(data)


class DiskVFS(apsw.VFS):
    """SQLite's way to a `Disk`."""

    def __init__(self, name: str, disk: Disk) -> None:
        self.disk, self.name = disk, name
        super().__init__(name, "")

    def xOpen(self, name, flags):
        filename = name.filename() if isinstance(name, apsw.URIFilename) else name
        flags[1] = flags[0]
        return DiskFile(self.disk, str(filename))

    def xDelete(self, name, sync_directory):
        if self.disk.survivors is not None:
            return  # a process that clears up after the cut deletes nothing any more
        self.disk.step()
        del self.disk.current[name]
        self.disk.synced.pop(name, None)

    def xAccess(self, name, flags):
        return name in self.disk.current

    def xFullPathname(self, name):
        return name


class DiskFile:
    """A file of a `Disk`; its content survives a cut once it was synced."""

    def __init__(self, disk: Disk, name: str) -> None:
        self._disk, self._name = disk, name
        disk.current.setdefault(name, bytearray())

    @property
    def _data(self) -> bytearray:
        return self._disk.current[self._name]

    def xRead(self, amount, offset):
        return bytes(self._data[offset : offset + amount])

    def xWrite(self, data, offset):
        self._disk.step()
        if len(self._data) < offset:
            self._data.extend(bytes(offset - len(self._data)))
        self._data[offset : offset + len(data)] = data

    def xTruncate(self, size):
        self._disk.step()
        del self._data[size:]

    def xSync(self, flags):
        self._disk.step()
        if self._disk.fail_syncs:
            raise apsw.IOError("sync failed")
        self._disk.synced[self._name] = bytes(self._data)

    def xFileSize(self):
        return len(self._data)

    def xClose(self):
        pass

    def xLock(self, level):
        pass

    def xUnlock(self, level):
        pass

    def xCheckReservedLock(self):
        return False

    def xFileControl(self, op, pointer):
        return False

    def xSectorSize(self):
        return SECTOR

    def xDeviceCharacteristics(self):
        return 0
