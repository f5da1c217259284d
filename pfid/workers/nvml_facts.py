"""What does not change while a driver is loaded: name, bus id, capability, MIG."""

from typing import Any, Final

import pynvml

from pfid.domain.gpu import AbsentReason, GpuFacts, MigInstance
from pfid.formats.untrusted import printable
from pfid.workers import nvml_calls as nvml
from pfid.workers import nvml_values as values
from pfid.workers.nvml_calls import Handle, reading

NAME_CHARS: Final = 96
MIG_MAX: Final = 16


def read_facts(handle: Handle, index: int) -> GpuFacts | None:
    """What the GPU is; None if it cannot even be told from others."""
    place = _bus_id(handle)
    uuid = values.uuid(_text(pynvml.nvmlDeviceGetUUID, handle))
    if uuid is None and place is None:
        return None
    absent: dict[str, AbsentReason] = {}
    mig = _known(reading(pynvml.nvmlDeviceGetMigMode, handle), "mig", absent)
    capability = reading(pynvml.nvmlDeviceGetCudaComputeCapability, handle)
    default_limit = values.watts(reading(nvml.default_power_limit_mw, handle))
    return GpuFacts(
        uuid=uuid or f"PCI-{place}",
        index=index,
        name=printable(_text(pynvml.nvmlDeviceGetName, handle), NAME_CHARS),
        pci_bus_id=place or "",
        capability=_known(capability, "capability", absent),
        memory_total_bytes=_known(_memory_total(handle), "memory_total_bytes", absent),
        mig=None if mig is None else bool(mig[0]),
        power_limit_default_w=_known(default_limit, "power_limit_default_w", absent),
        instances=_instances(handle) if mig and mig[0] else (),
        absent=absent,
    )


def _memory_total(handle: Handle) -> int | AbsentReason:
    """Size of the memory; 0 is no size."""
    memory = reading(nvml.memory, handle)
    if isinstance(memory, AbsentReason):
        return memory
    return values.whole(memory[0], values.MAX_MEMORY_BYTES) or AbsentReason.NOT_SUPPORTED


def _known(value: Any, name: str, absent: dict[str, AbsentReason]) -> Any:
    if isinstance(value, AbsentReason):
        absent[name] = value
        return None
    return value


def _text(call: Any, handle: Handle) -> str:
    """A text of the driver, whatever it is made of."""
    raw = reading(call, handle)
    if isinstance(raw, bytes):
        return raw.decode("utf-8", "replace")
    return raw if isinstance(raw, str) else ""


def _bus_id(handle: Handle) -> str | None:
    info = reading(pynvml.nvmlDeviceGetPciInfo, handle)
    if isinstance(info, AbsentReason):
        return None
    for raw in (info.busId, info.busIdLegacy):
        text = raw.decode("ascii", "replace") if isinstance(raw, bytes) else str(raw)
        if (found := values.bus_id(text)) is not None:
            return found
    return None


def _instances(handle: Handle) -> tuple[MigInstance, ...]:
    """The slices in use; those that cannot be read are left out."""
    most = reading(pynvml.nvmlDeviceGetMaxMigDeviceCount, handle)
    if isinstance(most, AbsentReason):
        return ()
    found = []
    for position in range(min(most, MIG_MAX)):
        mig = reading(pynvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, position)
        if isinstance(mig, AbsentReason):
            continue
        uuid = values.uuid(_text(pynvml.nvmlDeviceGetUUID, mig))
        if uuid is not None:
            found.append(_instance(mig, uuid))
    return tuple(found)


def _instance(mig: Handle, uuid: str) -> MigInstance:
    absent: dict[str, AbsentReason] = {}
    gpu = reading(pynvml.nvmlDeviceGetGpuInstanceId, mig)
    compute = reading(pynvml.nvmlDeviceGetComputeInstanceId, mig)
    return MigInstance(
        uuid=uuid,
        gpu_instance=_known(gpu, "gpu_instance", absent),
        compute_instance=_known(compute, "compute_instance", absent),
        name=printable(_text(pynvml.nvmlDeviceGetName, mig), NAME_CHARS),
        memory_total_bytes=_known(_memory_total(mig), "memory_total_bytes", absent),
    )
