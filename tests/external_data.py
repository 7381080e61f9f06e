"""A model's folder with external data in it, and tensors that are stored there."""

import numpy as np
from onnx import TensorProto

from minirt.data.external import ExternalData
from minirt.data.tensors import from_proto

__all__ = ["NUMBERS", "external", "make_folder", "read"]

NUMBERS = np.arange(12, dtype=np.float32)


def external(location="w.bin", dims=(3,), data_type=TensorProto.FLOAT, **entries):
    """A tensor 'w' that is stored at ``location``."""
    tensor = TensorProto(
        data_type=data_type, dims=dims, name="w", data_location=TensorProto.EXTERNAL
    )
    for key, value in {"location": location, **entries}.items():
        if value is not None:
            tensor.external_data.add(key=key, value=str(value))
    return tensor


def make_folder(tmp_path):
    """A folder with w.bin and data/v.bin in it, beside a file that is not the model's."""
    inside = tmp_path / "model"
    (inside / "data").mkdir(parents=True)
    NUMBERS.tofile(inside / "w.bin")
    NUMBERS[::-1].tofile(inside / "data" / "v.bin")
    (tmp_path / "secret.bin").write_bytes(bytes(48))
    return inside


def read(tensor, folder, **options):
    return from_proto(tensor, external=ExternalData(folder, **options))
