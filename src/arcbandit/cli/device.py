"""The option `--device`, shared by the verbs that play rounds."""

from arcbandit.errors import InvalidInputError, MissingExtraError
from arcbandit.simulation.choices import Device

DEVICE_HELP = (
    "Where rounds are played; cuda is an NVIDIA GPU, with one epoch per thread, and needs the extra `cuda`; auto is "
    "cuda if available, otherwise cpu."
)


def check_device(device: Device) -> None:
    """Refuse a device that is not available, as bad input."""
    from arcbandit.simulation.device import use_cuda

    try:
        use_cuda(device)
    except MissingExtraError as error:
        raise InvalidInputError(f"--device {device} is not available: {error}") from None
