"""The workloads. Importing this package registers every scenario."""

from terrazzo.sim.scenarios import channel as channel
from terrazzo.sim.scenarios import fight as fight
from terrazzo.sim.scenarios import logins as logins
from terrazzo.sim.scenarios import seamless as seamless
from terrazzo.sim.scenarios import sync as sync
