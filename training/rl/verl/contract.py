"""`scripts/verl -m training.rl.verl.contract`: check what this repository needs from verl, on a CPU.

registration   the agent loop is found by name, and verl's name "sync" gives our trainer
settings       verl's own checks accept every recipe's settings, which save, validate, clip, fit the contexts
               and load models without flash-attn
synchronous    verl takes the synchronous replay buffer, and whole batches of prompts
rollout        a scripted policy's rollout through the agent loop gives verl's outputs, token for token
advantages     the trainer reads our advantages from verl's batch; GRPO's equal verl's
step           after verl has filled a batch up, the trainer's advantages are ours, 0 in the filling, and
               verl computes its metrics
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf
from tensordict import TensorDict
from transfer_queue import KVBatchMeta
from verl import DataProto
from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, _agent_loop_registry
from verl.trainer.constants_ppo import get_ppo_ray_runtime_env
from verl.trainer.ppo import padding_utils
from verl.trainer.ppo.utils import need_critic, need_reference_policy
from verl.trainer.ppo.v1 import get_trainer_cls, trainer_base
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer
from verl.trainer.ppo.v1.utils import compute_advantage_for_multi_trajectories
from verl.utils.config import omega_conf_to_dataclass, validate_config
from verl.utils.tensordict_utils import list_of_dict_to_tensordict

from training.rl.algorithms import grpo, hrr, supo
from training.rl.engines.random_model import make_model, make_tokenizer
from training.rl.environments.archive import make_archive
from training.rl.recipes import Questions, Recipe, make_environment
from training.rl.rollout import Generation
from training.rl.trajectory import Trajectory
from training.rl.verl import trainer as our_trainer
from training.rl.verl.advantages import compute_advantages
from training.rl.verl.loop import VERSIONS, TerselyLoop, run_episode
from training.rl.verl.overrides import MODULES, list_overrides
from training.rl.verl.trainer import TerselyTrainer, read_batch, read_mask
from training.settings import read_settings

RUNS = Path(__file__).parents[2] / "runs" / "verl"
FILES = Path("questions.parquet"), Path("questions.validation.parquet")


def check_registration() -> str:
    assert _agent_loop_registry["tersely"]["_target_"] == "training.rl.verl.loop.TerselyLoop"
    assert get_trainer_cls("sync") is TerselyTrainer
    return "the loop and the trainer are found by their names"


def resolve(file: Path, recipe: Recipe) -> Any:
    """Return verl's configuration for a recipe, resolved as its main program does. The policy is a small
    one, because verl reads its files."""
    recipe = replace(recipe, policy=write_policy())
    with initialize_config_module("verl.trainer.config", version_base=None):
        overrides = list_overrides(recipe, file, 2, *FILES, recipe.questions)
        config = compose("ppo_trainer", overrides=overrides)
    OmegaConf.resolve(config)
    return config


@cache
def write_policy() -> str:
    folder = tempfile.mkdtemp()
    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(folder)
    make_model(tokenizer, positions=65_536).save_pretrained(folder)
    return folder


def check_settings() -> str:
    files = sorted(RUNS.glob("*.toml"))
    for file in files:
        recipe = read_settings(Recipe, file)
        config = resolve(file, recipe)
        validate_config(config, need_reference_policy(config), need_critic(config))
        assert config.trainer.nnodes == 2
        assert config.trainer.save_freq > 0
        assert config.trainer.test_freq > 0
        assert config.data.train_files != config.data.val_files
        steps = recipe.questions // config.data.train_batch_size * config.trainer.total_epochs
        assert steps >= config.trainer.total_training_steps == recipe.steps
        policy, longest = config.actor_rollout_ref, recipe.context_tokens
        assert policy.rollout.max_model_len == longest
        assert policy.rollout.prompt_length >= longest
        assert policy.rollout.response_length >= longest
        for room in (policy.actor.ppo_max_token_len_per_gpu, policy.ref.log_prob_max_token_len_per_gpu):
            assert room >= longest
        assert policy.rollout.log_prob_max_token_len_per_gpu >= longest
        assert not need_critic(config) or config.critic.ppo_max_token_len_per_gpu >= longest
        assert policy.actor.fsdp_config.model_dtype == "fp32"  # master weights
        for part in [policy.model] + [config.critic.model] * need_critic(config):
            model = omega_conf_to_dataclass(part)
            assert model.hf_config._attn_implementation == "sdpa"
            assert not model.use_remove_padding
        assert {policy.actor.clip_ratio_low, policy.actor.clip_ratio_high} == {recipe.clip}
        assert policy.rollout.val_kwargs.temperature == recipe.validation_temperature
        assert need_reference_policy(config) == (recipe.kl > 0)
        assert policy.rollout.n == recipe.group
        assert str(config.trainer.tersely_recipe) == str(file)
        environment = get_ppo_ray_runtime_env(config)
        environment = OmegaConf.merge(environment, config.ray_kwargs.ray_init.runtime_env)["env_vars"]
        assert environment["VERL_USE_EXTERNAL_MODULES"] == MODULES
        assert (Path(environment["PYTHONPATH"]) / "training/rl/verl/loop.py").exists()
    return f"{len(files)} recipes"


def check_synchronous() -> str:
    """Let verl's own constructor choose its replay buffer, and the size of a fetch."""
    for file in sorted(RUNS.glob("*.toml")):
        config = resolve(file, read_settings(Recipe, file))
        trainer = object.__new__(get_trainer_cls(config.trainer.v1.trainer_mode))
        trainer.config, trainer.trainer_mode = config, config.trainer.v1.trainer_mode
        buffer = trainer._build_replay_buffer()
        assert type(buffer) is ReplayBuffer, f"{file.stem} takes {type(buffer).__name__}"
        assert config.data.get("gen_batch_size") in (None, config.data.train_batch_size)
    return "synchronous replay buffer, whole batches"


class _Server:
    """A scripted version of verl's client of the policy's servers."""

    def __init__(self, replies: Sequence[list[int]]) -> None:
        self._replies = list(replies)

    async def generate(self, *, request_id: str, prompt_ids: list[int], sampling_params: Any) -> Any:
        tokens = self._replies.pop(0)
        versions = {"min_global_steps": 3, "max_global_steps": 3}
        return SimpleNamespace(token_ids=tokens, log_probs=[-0.5] * len(tokens), extra_fields=versions)


def roll_out(questions: Questions, replies: Sequence[str]) -> tuple[list[AgentLoopOutput], Trajectory]:
    """Run a scripted rollout of the first question with the loop and with `run_episode`."""
    chat = questions.environment.chat
    script = [chat.encode(reply) for reply in replies]
    loop = object.__new__(TerselyLoop)  # verl's constructor needs its servers and data sets
    loop.recipe, loop.environment = read_settings(Recipe, RUNS / "recon.toml"), questions
    loop.server_manager = _Server(script)
    outputs = asyncio.run(loop.run({"temperature": 1.0}, extra_info={"index": 0}))
    left = list(script)

    async def generate(context: Sequence[int]) -> Generation:
        tokens = left.pop(0)
        return Generation(tokens, [-0.5] * len(tokens))

    return outputs, asyncio.run(run_episode(questions.pose(0), generate))


def make_questions() -> Questions:
    recipe = read_settings(Recipe, RUNS / "recon.toml")
    tokenizer = make_tokenizer()
    small = replace(recipe, context_tokens=16_000, reading="passages", retriever="")
    environment = make_environment(small, tokenizer, *make_archive(8, 0))
    return Questions(environment)


def check_rollout() -> str:
    questions = make_questions()
    question = questions.environment.questions[0]
    search, answer = f"<search>{question.text}</search>", f"<answer>{question.answers[0]}</answer>"
    (output,), trajectory = roll_out(questions, [search, "Hm.", answer])
    assert (trajectory.outcome, output.reward_score) == ("answered", 1.0)
    (segment,) = trajectory.segments
    assert output.prompt_ids + output.response_ids == list(segment.tokens)
    own = [t for t, mine in zip(output.response_ids, output.response_mask, strict=True) if mine]
    assert questions.environment.chat.tokenizer.decode(own) == search + "Hm." + answer
    assert len(output.response_logprobs or ()) == len(output.response_mask)
    return f"{len(own)} tokens written, {len(output.response_ids) - len(own)} read in between"


def make_rows() -> tuple[list[str], list[dict[str, Any]], list[Trajectory]]:
    """Make two questions with three scripted rollouts each, as verl stores them in rows."""
    questions = make_questions()
    question = questions.environment.questions[0]
    search, answer = f"<search>{question.text}</search>", f"<answer>{question.answers[0]}</answer>"
    scripts = [[search, answer], ["<answer>Nobody</answer>"], ["Hm."] * 5]
    keys: list[str] = []
    fields: list[dict[str, Any]] = []
    made: list[Trajectory] = []
    for name in ("one", "two"):
        for number, script in enumerate(scripts):
            outputs, trajectory = roll_out(questions, script)
            made.append(Trajectory(name, trajectory.segments, trajectory.reward, trajectory.outcome))
            for part, output in enumerate(outputs):
                keys.append(f"{name}_{number}_{part}")
                fields.append(output.as_dict())
    return keys, fields, made


def check_advantages() -> str:
    keys, rows, made = make_rows()
    data, places = list_of_dict_to_tensordict(rows), range(len(keys))
    written = sum(sum(segment.mask) for t in made for segment in t.segments)
    for make_targets in (grpo.make_targets, hrr.make_targets, supo.make_targets):
        found = compute_advantages(make_targets, read_batch(keys, data, places), read_mask(data))
        ours = make_targets(made)
        total = sum(a * w for t in ours for a, w in zip(t.advantages, t.weights, strict=True))
        size = sum(abs(a * w) for t in ours for a, w in zip(t.advantages, t.weights, strict=True))
        torch.testing.assert_close(found.sum() / written, torch.tensor(total), atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(found.abs().sum() / written, torch.tensor(size), atol=1e-5, rtol=1e-4)
    mask = torch.nn.utils.rnn.pad_sequence(list(data["response_mask"].unbind()), batch_first=True)
    scores = torch.nn.utils.rnn.pad_sequence(list(data["rm_scores"].unbind()), batch_first=True)
    batch = {"response_mask": mask, "token_level_rewards": scores, "token_level_scores": scores}
    proto = DataProto(batch=TensorDict(batch, batch_size=len(keys)))
    proto.non_tensor_batch["uid"] = np.array([key.split("_")[0] for key in keys], dtype=object)
    theirs = compute_advantage_for_multi_trajectories(proto, keys, "grpo").batch["advantages"]
    for row, key in enumerate(keys):
        ours = [t for t in grpo.make_targets(made) if t.segment.tokens][row]
        first = ours.segment.turns[0].start
        torch.testing.assert_close(
            theirs[row][mask[row].bool()][0], torch.tensor(ours.advantages[first]), atol=1e-4, rtol=1e-4
        )
        assert key
    return f"{len(keys)} rows, {written} tokens: GRPO, HRR and SUPO as ours; GRPO as verl's"


class _Queue:
    """A version of verl's transfer queue in this process."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, Any]] = {}
        self._tags: dict[str, dict[str, Any]] = {}

    def kv_batch_get(self, keys: Sequence[str], partition_id: str, select_fields: Any = None) -> TensorDict:
        names = set(self._rows[keys[0]]) & set(select_fields or self._rows[keys[0]])
        return list_of_dict_to_tensordict([{name: self._rows[key][name] for name in names} for key in keys])

    def kv_batch_put(
        self, keys: Sequence[str], partition_id: str, fields: TensorDict, tags: Any = None
    ) -> KVBatchMeta:
        for name in list(fields.keys()):
            values = fields[name].unbind() if isinstance(fields[name], torch.Tensor) else fields[name]
            for key, value in zip(keys, values, strict=True):
                self._rows.setdefault(key, {})[name] = value
        self._tags |= dict(zip(keys, tags or (), strict=False))
        return KVBatchMeta(partition_id=partition_id, keys=keys, tags=[self._tags[key] for key in keys])


def check_step() -> str:
    keys, rows, made = make_rows()
    file = RUNS / "supo.toml"
    for key, row in zip(keys, rows, strict=True):
        length = len(row["prompts"]) + len(row["responses"])
        row |= {"uid": key.split("_")[0], "old_log_probs": row["rollout_log_probs"]}
        row |= {name: torch.zeros(length, dtype=torch.int64) for name in ("input_ids", "position_ids")}
    queue = _Queue()
    tags = [
        {"seq_len": len(row["input_ids"]), **{name: row["extra_fields"][name] for name in VERSIONS}}
        for row in rows
    ]
    batch = queue.kv_batch_put(keys, "train", list_of_dict_to_tensordict(rows), tags)
    trainer = object.__new__(TerselyTrainer)
    trainer.config, trainer.evolution, trainer.use_critic = (
        resolve(file, read_settings(Recipe, file)),
        None,
        False,
    )
    trainer._rollout_moe_lb_metrics_accumulator = None
    trainer._get_n_gpus_for_throughput = lambda: 1
    for module in (padding_utils, trainer_base, our_trainer):
        module.tq = queue
    batch = padding_utils.upsample_batch_to_divisible_size(batch, 4, 0)
    trainer._compute_advantage(batch, {})
    found = queue.kv_batch_get(batch.keys, "train", ["advantages"])["advantages"].unbind()
    filled = [bool(tag.get("is_padding")) for tag in batch.tags]
    assert sum(filled) == len(filled) - len(keys) > 0
    assert not any(row.any() for row, fills in zip(found, filled, strict=True) if fills)
    gains = sum(float(row.sum()) for row in found)
    written = sum(sum(segment.mask) for t in made for segment in t.segments)
    targets = supo.make_targets(made)
    wanted = sum(a * w * written for t in targets for a, w in zip(t.advantages, t.weights, strict=True))
    torch.testing.assert_close(gains, wanted, atol=1e-3, rtol=1e-4)
    assert any(row.any() for row in found)
    metrics: dict[str, Any] = {}
    times = dict.fromkeys(("step", "gen", "adv", "update_actor"), 1.0)
    trainer._compute_metrics(batch, metrics, times, global_steps=4, epoch=0)
    assert metrics["training/off_policy/trajectory_staleness/max"] == 0
    return f"{sum(filled)} rows of filling, {len(metrics)} metrics"


def main() -> None:
    checks = (
        check_registration,
        check_settings,
        check_synchronous,
        check_rollout,
        check_advantages,
        check_step,
    )
    for check in checks:
        print(f"{check.__name__.removeprefix('check_')}: {check()}")


if __name__ == "__main__":
    main()
