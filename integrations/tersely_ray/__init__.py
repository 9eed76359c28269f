"""tersely in Ray: `pip install 'tersely[ray]'`.

compress_dataset    a transform of Ray Data, on a pool of actors: for corpora of any size
make_application    the server of `tersely serve` as an application of Ray Serve
"""

from tersely_ray import _version as _version
from tersely_ray.data import compress_dataset
from tersely_ray.serving import make_application

__all__ = ["compress_dataset", "make_application"]
