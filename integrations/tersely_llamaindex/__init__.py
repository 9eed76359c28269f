"""tersely in LlamaIndex: `pip install 'tersely[llamaindex]'`.

from tersely_llamaindex import TerselyPostprocessor

engine = index.as_query_engine(node_postprocessors=[TerselyPostprocessor(budget=800)])
"""

from tersely_llamaindex import _version as _version
from tersely_llamaindex.postprocessor import TerselyPostprocessor

__all__ = ["TerselyPostprocessor"]
