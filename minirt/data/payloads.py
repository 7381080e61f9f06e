"""The tensors of one model, as types with contents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import SparseTensorProto, TensorProto

from ..errors import UnsupportedError
from ..types import TensorType
from .sparse import DENSE_LIMIT, sparse_from_proto
from .tensors import element_type, from_proto

if TYPE_CHECKING:
    from .external import ExternalData

__all__ = ["Payloads"]


class Payloads:
    """Reads the tensors of one model; ``external`` finds the data of those stored outside.

    Sparse ones become dense, up to :data:`~minirt.data.sparse.DENSE_LIMIT` bytes together: a few
    bytes of a file could ask for any amount of memory.
    """

    def __init__(self, external: ExternalData | None) -> None:
        self._external = external
        self._dense_bytes = 0
        # By identity, which is theirs as long as the messages are kept.
        self._kept: dict[int, tuple[TensorProto | SparseTensorProto, TensorType]] = {}

    def read(self, proto: TensorProto | SparseTensorProto, where: str) -> TensorType:
        """The type of ``proto`` with its contents; ``where`` says what it is, in messages.

        Raises what :func:`~minirt.data.tensors.from_proto` and
        :func:`~minirt.data.sparse.sparse_from_proto` raise.
        """
        if isinstance(proto, SparseTensorProto):
            return self._sparse(proto, where)
        array = from_proto(proto, where=where, external=self._external)
        return TensorType(element_type(proto.data_type, where), array.shape, array)

    def read_once(self, proto: TensorProto | SparseTensorProto, where: str) -> TensorType:
        """The same for a tensor in a function, which all calls of that share."""
        if id(proto) not in self._kept:
            self._kept[id(proto)] = proto, self.read(proto, where)
        return self._kept[id(proto)][1]

    def _sparse(self, proto: SparseTensorProto, where: str) -> TensorType:
        sparse = sparse_from_proto(proto, where=where, external=self._external)
        self._dense_bytes += sparse.dense_bytes
        if sparse.dense_bytes <= DENSE_LIMIT < self._dense_bytes:
            raise UnsupportedError(
                f"{where} is one sparse tensor too many: together they take {self._dense_bytes} "
                f"bytes when dense, over the limit of {DENSE_LIMIT}"
            )
        try:
            array = sparse.dense()
        except UnsupportedError as error:
            raise UnsupportedError(f"{where}: {error}") from None
        array.flags.writeable = False
        return TensorType(element_type(proto.values.data_type, where), array.shape, array)
