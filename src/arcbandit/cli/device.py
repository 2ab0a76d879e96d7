"""The option `--device`, which verbs that play have in common."""

from typing import Literal

from arcbandit.errors import InvalidInputError, MissingExtraError

Device = Literal["cpu", "cuda", "auto"]
DEVICE_HELP = (
    "What plays; cuda is an NVIDIA GPU, one epoch a thread, and needs the extra `cuda`; auto is cuda where it can be "
    "had, and else cpu."
)


def check_device(device: Device) -> None:
    """Refuse a device that is not there as any other input that cannot be served."""
    from arcbandit.simulation.device import use_cuda

    try:
        use_cuda(device)
    except MissingExtraError as error:
        raise InvalidInputError(f"--device {device} cannot be had: {error}") from None
