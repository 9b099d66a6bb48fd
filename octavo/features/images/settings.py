"""The settings of images."""

from pydantic import Field

from octavo.settings import KernelSettings
from octavo.settings.values import Switch


class ImageSettings(KernelSettings):
    """What is done with images."""

    remove_image_metadata: Switch = Field(
        default=False,
        description="true removes what identifies people and places from uploaded and imported "
        "images: position, names, times, camera; pixels, orientation and colours stay as they are. "
        "Images of published links never contain these",
    )
