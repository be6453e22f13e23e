"""The package's functions are bound lazily, and go before the modules of the same names."""

import importlib
import subprocess
import sys
from types import FunctionType

import pytest

import fairseq_xling.mapping as package


def test_every_promised_name_is_there_and_functions_go_before_their_modules():
    for name in package.__all__:
        module = importlib.import_module(package.__name__)
        assert getattr(module, name).__name__ == name
    for name in ("procrustes", "normalize", "least_squares"):
        importlib.import_module(f"{package.__name__}.{name}")
        assert isinstance(getattr(package, name), FunctionType)


def test_a_function_cannot_be_replaced_by_mistake():
    with pytest.raises(AttributeError, match=r"mapping\.procrustes cannot be replaced"):
        package.procrustes = None


def test_naming_methods_does_not_import_torch():
    code = (
        "import sys; from fairseq_xling.mapping.paired import PAIRED; "
        "from fairseq_xling.mapping.methods import METHODS; list(PAIRED), list(METHODS); "
        "assert 'torch' not in sys.modules; "
        "from fairseq_xling.mapping import procrustes; assert callable(procrustes)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
