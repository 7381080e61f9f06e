"""Files that ask for much with little: how each case of ``hostile_*.py`` ends.

The cases run in a process whose address space is bounded, and each within a minute.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

MOST_BYTES = "functions expand to more than 67108864 bytes"
TOO_MANY = "is one sparse tensor too many: together they take 1610612736 bytes when dense"
LIMIT = "over the limit of 1073741824"

SIZES = {
    "claims_of_every_type": "['ParseError', 'UnsupportedError']",
    "claims_in_a_sequence": "ParseError: x.pb[0] declares float[1099511627776], "
    "4398046511104 bytes, but raw_data has 4",
    "claims_of_an_input": "float16[1099511627776,1099511627776]",
    "a_sparse_tensor": "UnsupportedError: initializer 's': a sparse tensor of shape "
    f"[1099511627776] takes 4398046511104 bytes when dense, {LIMIT}",
    "many_sparse_tensors": f"UnsupportedError: initializer 's2' {TOO_MANY}, {LIMIT}",
    "many_sparse_attributes": "UnsupportedError: Constant (node 2): attribute sparse_value "
    f"{TOO_MANY}, {LIMIT}",
    "sparse_texts": "UnsupportedError: initializer 's': a sparse tensor of shape [268435456] "
    f"takes 2147483648 bytes when dense, {LIMIT}",
    "a_sparse_tensor_of_many_dimensions": "ParseError: initializer 's': shape has 200000 "
    "dimensions; at most 64 are possible",
    "a_type_of_many_dimensions": "UnsupportedError: graph input 'x' has 200000 dimensions; "
    "at most 64 are possible",
    "tensors_that_share_a_file": "ParseError: tensor 'w' is stored in 'w.bin', whose 16777216 "
    "bytes are shared by too many tensors: together they have 352321536",
    "a_long_location": "ParseError: tensor 'w' is stored in a file whose name has 1000000 "
    "characters; at most 4096 are possible",
}

FUNCTIONS = {
    "functions_that_double": "UnsupportedError: local.F0 (node 0): functions expand to more "
    "than 1000000 nodes",
    "a_list_in_a_function": f"UnsupportedError: local.F (node 174): {MOST_BYTES}",
    "a_tensor_in_a_function": "10000 nodes",
    "a_sparse_tensor_in_a_function": "100 nodes",
    "a_function_of_many_inputs": f"UnsupportedError: local.F (node 450): {MOST_BYTES}",
    "calls_without_results": "40000 nodes",
    "calls_in_calls": "10001 nodes",
    "graphs_that_functions_share": "1 nodes, 7 thousand characters",
    "a_graph_that_many_nodes_share": "40001 nodes",
    "a_list_that_many_nodes_share": "UnsupportedError: local.F (node 0) > Constant (node 16): "
    f"{MOST_BYTES}",
    "one_long_name_in_a_function": f"UnsupportedError: local.F (node 67): {MOST_BYTES}",
}

TEXTS = {
    "many_names_that_are_near": "True",
    "names_that_are_long": "SchemaError of 10 thousand characters",
    "many_operators_that_no_one_knows": "5111 lines, infer 5000 nodes, 152 thousand characters, "
    "load UnsupportedError of 4 thousand characters",
    "one_long_name_in_a_table": "20010 lines of at most 2024 characters",
    "one_long_name_in_many_lines": "2000 nodes, 895 thousand characters",
    "lists_without_elements": "2 nodes, 0 thousand characters, commands [2, 0, 0, 0]",
    "a_result_that_is_never_summarised": "0, 0 thousand characters",
    "deep_types": "ParseError: graph input 'x' declares a type nested more than 100 deep",
    "deep_graphs": "[11, 31, 32, 'ParseError', 'ParseError']",
}

MANY = {
    "many_nodes_in_a_chain": "(<'v60000': float[...]>,)",
    "many_nodes_backwards": "(<'v60000': float[...]>,)",
    "many_of_everything": "60000 inputs, 60000 outputs",
    "one_node_of_many_operands": "1 nodes, 240 thousand characters",
    "many_calls": "60000 nodes",
    "many_subgraphs": "6000 nodes, 1150 thousand characters",
    "many_gaps": "60000",
    "many_steps": "2000",
}


ENDS = {
    "hostile_sizes": SIZES,
    "hostile_functions": FUNCTIONS,
    "hostile_texts": TEXTS,
    "hostile_many": MANY,
}


@pytest.mark.parametrize("module", ENDS)
def test_what_asks_for_much_with_little(module):
    script = Path(__file__).with_name("hostile_process.py")
    command = [sys.executable, str(script), module]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    outcomes = dict(map(json.loads, done.stdout.splitlines()))
    assert outcomes == ENDS[module], done.stderr[-2000:]
    assert (done.returncode, done.stderr) == (0, "")
