"""Memory that is left: of the box, and where a cgroup's limit is nearer than the box's."""

import os
from pathlib import Path

import pytest

from pfid.adapters.memory_room import FOUND_EVERY, MemoryRooms
from pfid.adapters.oom_counter import OomCounter

GIB = 1 << 30
STAT_V2 = "anon 1\ninactive_file {0}\nactive_file {0}\nslab 9\n"
STAT_V1 = "active_file 7\ntotal_inactive_file {0}\ntotal_active_file {0}\n"


@pytest.fixture
def fake(tmp_path):
    """A box of 100 GiB with 50 left, and a process in cgroup a/b."""
    (tmp_path / "proc").mkdir()
    meminfo = f"MemTotal: {100 << 20} kB\nMemFree: 7 kB\nMemAvailable: {50 << 20} kB\n"
    (tmp_path / "proc" / "meminfo").write_text(meminfo)
    rooms = MemoryRooms(tmp_path / "proc", tmp_path / "cgroup")
    yield tmp_path, rooms
    rooms.close()


def cgroup_v2(root, path, *, limit="max", used=0, caches=0):
    folder = root / "cgroup" / path
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(STAT_V2.format(caches // 2))
    return str(folder / "memory.events")


def cgroup_v1(root, path, *, limit=9223372036854771712, used=0, caches=0):
    folder = root / "cgroup" / "memory" / path
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.limit_in_bytes").write_text(f"{limit}\n")
    (folder / "memory.usage_in_bytes").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(STAT_V1.format(caches // 2))
    return str(folder / "memory.oom_control")


BOX = (100 * GIB, 50 * GIB)


def test_without_a_cgroup_the_box_decides(fake):
    _, rooms = fake
    assert rooms.room(None) == BOX


@pytest.mark.parametrize("cgroup", [cgroup_v1, cgroup_v2])
def test_a_cgroup_without_a_limit_leaves_it_to_the_box(fake, cgroup):
    root, rooms = fake
    cgroup(root, "a")
    assert rooms.room(cgroup(root, "a/b", used=9 * GIB)) == BOX


@pytest.mark.parametrize("cgroup", [cgroup_v1, cgroup_v2])
def test_the_limit_that_is_nearest_decides_wherever_above_it_stands(fake, cgroup):
    root, rooms = fake
    cgroup(root, "a", limit=20 * GIB, used=19 * GIB)
    place = cgroup(root, "a/b", limit=10 * GIB, used=2 * GIB)
    assert rooms.room(place) == (20 * GIB, GIB)
    cgroup(root, "a", limit=20 * GIB, used=3 * GIB)
    assert rooms.room(place) == BOX, "half of the box is less of it than eight tenths"


@pytest.mark.parametrize("cgroup", [cgroup_v1, cgroup_v2])
def test_caches_of_files_count_as_free(fake, cgroup):
    root, rooms = fake
    place = cgroup(root, "a", limit=10 * GIB, used=10 * GIB, caches=8 * GIB)
    assert rooms.room(place) == BOX
    place = cgroup(root, "a", limit=10 * GIB, used=10 * GIB, caches=2 * GIB)
    assert rooms.room(place) == (10 * GIB, 2 * GIB)


def test_a_limit_above_the_box_is_none(fake):
    root, rooms = fake
    assert rooms.room(cgroup_v2(root, "a", limit=200 * GIB, used=199 * GIB)) == BOX


def test_a_limit_that_is_set_later_is_found(fake):
    root, rooms = fake
    place = cgroup_v2(root, "a")
    assert rooms.room(place) == BOX
    cgroup_v2(root, "a", limit=10 * GIB, used=9 * GIB)
    assert (10 * GIB, GIB) in [rooms.room(place) for _ in range(FOUND_EVERY)]


@pytest.mark.parametrize("told", ["", "MemTotal: 0 kB\nMemAvailable: 0 kB\n", "MemTotal: 9 kB\n"])
def test_what_cannot_be_read_is_unknown_and_never_zero(fake, told):
    root, rooms = fake
    (root / "proc" / "meminfo").write_text(told)
    assert rooms.room(None) is None
    assert rooms.room(cgroup_v2(root, "a", limit=GIB, used=0)) is None


def test_a_cgroup_that_is_gone_leaves_it_to_the_box_and_no_descriptor(fake):
    root, rooms = fake
    before = len(list(Path("/proc/self/fd").iterdir()))
    place = cgroup_v2(root, "a", limit=10 * GIB, used=9 * GIB)
    assert rooms.room(place) == (10 * GIB, GIB)
    for name in ("memory.max", "memory.current", "memory.stat"):
        (root / "cgroup" / "a" / name).unlink()
    for _ in range(FOUND_EVERY):
        rooms.room(place)
    assert rooms.room(place) == BOX
    rooms.forget(place)
    rooms.close()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


def test_this_kernel_tells_it():
    rooms = MemoryRooms()
    limit_bytes, available_bytes = rooms.room(OomCounter().place_of(os.getpid()))
    rooms.close()
    assert 0 < available_bytes <= limit_bytes
    assert limit_bytes <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
