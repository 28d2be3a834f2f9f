"""The command group. Commands are imported when they are called, so that `terrazzo --help` stays quick."""

from __future__ import annotations

import importlib
from importlib.metadata import PackageNotFoundError, version

import click

from terrazzo.schema.report import did_you_mean

COMMANDS = {
    "defs": ("terrazzo.cli.defs", "defs"),
    "check": ("terrazzo.cli.defs", "check"),
    "run": ("terrazzo.cli.run", "run"),
    "migrate": ("terrazzo.cli.migrate", "migrate"),
    "bots": ("terrazzo.cli.run", "bots"),
    "crowd": ("terrazzo.cli.crowd", "crowd"),
    "account": ("terrazzo.cli.account", "account"),
    "refusals": ("terrazzo.cli.refusals", "refusals"),
    "ban": ("terrazzo.cli.bans", "ban"),
    "unban": ("terrazzo.cli.bans", "unban"),
    "bans": ("terrazzo.cli.bans", "bans"),
    "attack": ("terrazzo.cli.attack", "attack"),
    "outage": ("terrazzo.cli.outage", "outage"),
    "sim": ("terrazzo.cli.sim", "sim_command"),
    "bench": ("terrazzo.cli.bench", "bench"),
    "soak": ("terrazzo.cli.soak", "soak"),
}
"""Command → (module, attribute)."""


class LazyGroup(click.Group):
    """A group of commands in modules that are imported on demand."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """See click; the error for an unknown command suggests the most similar one."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(
                f"there is no command {args[0]}{did_you_mean(args[0], COMMANDS, cutoff=0.6) or '; see terrazzo --help'}"
            )
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name]
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command


def installed_version() -> str:
    """The version of the installed package."""
    try:
        return version("terrazzo")
    except PackageNotFoundError:
        return "not installed"


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(installed_version(), prog_name="terrazzo")
def main() -> None:
    """One seamless game world, poured from many processes."""
