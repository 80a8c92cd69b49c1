"""Make the int8 ONNX form of all-MiniLM-L6-v2 from its published weights.

    python models/export_minilm.py WEIGHTS_DIR src/kb/embed/data/minilm

WEIGHTS_DIR holds model.safetensors and tokenizer.json. The graph is written by hand in ONNX Runtime's fused
operators (what its optimiser would arrive at), so that no deep-learning framework is needed to make it. It takes one
text at a time and therefore needs no attention mask: batches were slower on CPUs.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import safetensors_reader
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

HEADS = 12
LAYERS = 6
EPSILON = 1e-12
FUSED = "com.microsoft"


class Graph:
    """Nodes and weights collected on the way to a model."""

    def __init__(self, weights: safetensors_reader.Tensors) -> None:
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def add(self, name: str, array: np.ndarray) -> str:
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def weight(self, name: str) -> str:
        return self.add(name, self.weights[name])

    def matrix(self, name: str) -> str:
        """A linear layer's weight, turned to (in, out)."""
        return self.add(name, self.weights[name].T)

    def norm(self, prefix: str) -> list[str]:
        return [self.weight(f"{prefix}.LayerNorm.weight"), self.weight(f"{prefix}.LayerNorm.bias")]


def embeddings(graph: Graph) -> str:
    tables = [graph.weight(f"embeddings.{kind}_embeddings.weight") for kind in ("word", "position", "token_type")]
    graph.nodes.append(helper.make_node("Mul", ["input_ids", graph.add("zero", np.array(0, np.int32))], ["segments"]))
    graph.nodes.append(
        helper.make_node(
            "EmbedLayerNormalization",
            ["input_ids", "segments", *tables, *graph.norm("embeddings")],
            ["embedded", "mask_index"],
            name="embed",
            domain=FUSED,
            epsilon=EPSILON,
        )
    )
    return "embedded"


def attention(graph: Graph, source: str, layer: str) -> str:
    names = [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]
    weight = np.concatenate([graph.weights[f"{name}.weight"].T for name in names], axis=1)
    bias = np.concatenate([graph.weights[f"{name}.bias"] for name in names])
    inputs = [source, graph.add(f"{layer}.qkv.weight", weight), graph.add(f"{layer}.qkv.bias", bias)]
    out = f"{layer}.context"
    node = helper.make_node("Attention", inputs, [out], name=f"{layer}.attention", domain=FUSED, num_heads=HEADS)
    graph.nodes.append(node)
    return project(graph, out, source, f"{layer}.attention.output")


def project(graph: Graph, source: str, skip: str, prefix: str) -> str:
    """Linear layer, plus what came in, normalised."""
    product, out = f"{prefix}.product", f"{prefix}.out"
    matrix = graph.matrix(f"{prefix}.dense.weight")
    graph.nodes.append(helper.make_node("MatMul", [source, matrix], [product], name=f"{prefix}.matmul"))
    inputs = [product, skip, *graph.norm(prefix), graph.weight(f"{prefix}.dense.bias")]
    graph.nodes.append(
        helper.make_node("SkipLayerNormalization", inputs, [out], name=f"{prefix}.norm", domain=FUSED, epsilon=EPSILON)
    )
    return out


def feed_forward(graph: Graph, source: str, layer: str) -> str:
    prefix = f"{layer}.intermediate"
    product, wide = f"{prefix}.product", f"{prefix}.out"
    matrix = graph.matrix(f"{prefix}.dense.weight")
    graph.nodes.append(helper.make_node("MatMul", [source, matrix], [product], name=f"{prefix}.matmul"))
    bias = graph.weight(f"{prefix}.dense.bias")
    graph.nodes.append(helper.make_node("BiasGelu", [product, bias], [wide], name=f"{prefix}.gelu", domain=FUSED))
    return project(graph, wide, source, f"{layer}.output")


def build(weights: safetensors_reader.Tensors) -> onnx.ModelProto:
    graph = Graph(weights)
    state = embeddings(graph)
    for index in range(LAYERS):
        layer = f"encoder.layer.{index}"
        state = feed_forward(graph, attention(graph, state, layer), layer)
    graph.nodes.append(helper.make_node("Identity", [state], ["last_hidden_state"]))
    width = weights["embeddings.word_embeddings.weight"].shape[1]
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT32, [1, "tokens"])
    hidden = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [1, "tokens", width])
    body = helper.make_graph(graph.nodes, "minilm", [ids], [hidden], graph.initializers)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)]
    return helper.make_model(body, opset_imports=opsets, ir_version=8)


def plain_weights(path: Path) -> None:
    """Keep every weight as raw bytes: the one form that kb/embed/onnxweights.py reads."""
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name))
    onnx.save(model, path)


def main(source: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        full = Path(folder) / "full.onnx"
        onnx.save(build(safetensors_reader.read(source / "model.safetensors")), full)
        quantize_dynamic(
            full,
            target / "model.onnx",
            per_channel=True,
            weight_type=QuantType.QInt8,
            extra_options={"DefaultTensorType": TensorProto.FLOAT},
        )
    plain_weights(target / "model.onnx")
    shutil.copy(source / "tokenizer.json", target / "tokenizer.json")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
