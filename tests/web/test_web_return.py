"""The pauses with which a browser client comes back."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.web.node import needs_node

pytestmark = needs_node

CLIENT = Path(__file__).parents[2] / "clients" / "web" / "terrazzo.js"
SCRIPT = """
import { comeBack } from %s;
const run = async (failures, { isFinal = false, wantedFor = Infinity } = {}) => {
  const waits = [], errors = [];
  let tries = 0;
  const attempt = async () => {
    tries += 1;
    if (tries <= failures) throw Object.assign(new Error(`no ${tries}`), { isFinal: isFinal && tries === failures });
    return "in";
  };
  const options = {
    onWait: (ms, number, error) => { waits.push(ms); errors.push(error?.message ?? null); },
    isWanted: () => waits.length <= wantedFor, random: () => 1, sleep: async () => {}, firstMs: 500, mostMs: 4000,
  };
  let result;
  try { result = await comeBack(attempt, options); } catch (error) { result = `threw ${error.message}`; }
  return { waits, errors, tries, result };
};
console.log(JSON.stringify([await run(5), await run(3, { isFinal: true }), await run(9, { wantedFor: 2 })]));
"""


def test_pauses_double_up_to_the_most_and_end_with_success_a_final_error_or_a_cancel() -> None:
    script = SCRIPT % json.dumps(CLIENT.as_uri())
    command = ["node", "--input-type=module", "-e", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    in_at_last, final, unwanted = json.loads(done.stdout)
    assert in_at_last["waits"] == [500, 1000, 2000, 4000, 4000, 4000]
    assert in_at_last["errors"] == [None, "no 1", "no 2", "no 3", "no 4", "no 5"]
    assert (in_at_last["tries"], in_at_last["result"]) == (6, "in")
    assert (final["tries"], final["result"]) == (3, "threw no 3")
    assert (unwanted["tries"], unwanted["result"]) == (2, None)
