"""Runs on many nodes with verl, in a separate environment (`scripts/verl`).

advantages.py   our algorithms on verl's batches; torch only
outputs.py      a trajectory as verl's agent loops return it
loop.py         the agent of the SDK as an agent loop: "tersely"
trainer.py      a trainer whose advantages are those of our algorithms: "tersely"
overrides.py    a recipe as questions and settings of verl
dry_run.py      one step of a recipe with a random model on a CPU
contract.py     checks that need verl: `scripts/verl -m training.rl.verl.contract`

verl imports the modules named by VERL_USE_EXTERNAL_MODULES in each of its processes; `overrides` sets it.
"""
