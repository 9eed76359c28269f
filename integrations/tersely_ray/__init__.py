"""tersely in Ray: `pip install '.[ray]'`.

- `compress_dataset`: a transform of Ray Data for corpora of any size, on a pool of actors
- `make_application`: the server of `tersely serve` as an application of Ray Serve
"""

from tersely.adapters import require_package

require_package("ray", "ray", (2, 60), (3,))

from tersely_ray.data import compress_dataset
from tersely_ray.serving import make_application

__all__ = ["compress_dataset", "make_application"]
