"""The workloads. Importing this package registers every scenario."""

from terrazzo.sim.scenarios import channel as channel
from terrazzo.sim.scenarios import skeleton as skeleton
