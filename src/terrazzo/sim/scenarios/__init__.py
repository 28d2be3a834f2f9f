"""The workloads. Importing this package registers every scenario."""

import terrazzo.sim.scenarios.channel.scenario
import terrazzo.sim.scenarios.fight.scenario
import terrazzo.sim.scenarios.keepers
import terrazzo.sim.scenarios.logins
import terrazzo.sim.scenarios.makers
import terrazzo.sim.scenarios.parties.scenario
import terrazzo.sim.scenarios.queue
import terrazzo.sim.scenarios.seamless.scenario
import terrazzo.sim.scenarios.sync.scenario  # noqa: F401
