"""`terrazzo run GAME` starts a local cluster; `terrazzo bots GAME` sends bots into one that runs.

Here are the options, the sentences that are printed, and the exit codes. The work is in `terrazzo.runtime`.
"""

from __future__ import annotations

import asyncio
import importlib.util
import signal
import sys
from pathlib import Path

import click
import msgspec

from terrazzo.errors import UsageError
from terrazzo.game import LoadedGame, load_game
from terrazzo.runtime.cluster import Cluster
from terrazzo.runtime.config import DEFAULT_TOML, Config, read_config
from terrazzo.runtime.datafolder import DataFolder, default_folder
from terrazzo.runtime.launcher import Launcher, LocalLauncher, SingleLauncher
from terrazzo.runtime.loop import run as run_loop
from terrazzo.runtime.orders import Bots
from terrazzo.runtime.privacy import set_umask
from terrazzo.runtime.running import find_world, noted
from terrazzo.wire.pairs.login_db import BOT_PREFIX

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def _print_config(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        click.echo(DEFAULT_TOML, nl=False)
        ctx.exit()


@click.command()
@click.argument("game", type=click.Path(path_type=Path))
@click.option("--cells", type=click.IntRange(1, 1000), help="CellApps, each with a part of every space.")
@click.option("--bases", type=click.IntRange(1, 1000), help="BaseApps.")
@click.option("--bots", type=click.IntRange(0), help="Bots to send in once the world is ready.")
@click.option("--single", is_flag=True, help="All apps in one process, for debugging.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Folder for the database, the key and logs; beside GAME if not given.",
)
@click.option("--config", "config_path", type=click.Path(path_type=Path), help="A TOML file with settings.")
@click.option("--console/--no-console", default=True, help="With the web console, if it is installed.")
@click.option("--json-log", is_flag=True, help="Write logs as JSON lines.")
@click.option(
    "--print-config", is_flag=True, is_eager=True, expose_value=False, callback=_print_config,
    help="Print a settings file with everything in it, and exit.",
)  # fmt: skip
def run(
    game: Path,
    cells: int | None,
    bases: int | None,
    bots: int | None,
    single: bool,
    data: Path | None,
    config_path: Path | None,
    console: bool,
    json_log: bool,
) -> None:
    """Start the world of GAME on this machine; Ctrl-C ends it in order.

    GAME is a game's package, or its folder or file. Exits with 0 when everything ended as it should.
    """
    try:
        config = _with_options(read_config(config_path), cells=cells, bases=bases, bots=bots)
        loaded = load_game(game)
        folder = DataFolder(data or config.data.folder or default_folder(game))
        set_umask()
        folder.prepare()
        if words := folder.tighten():
            click.echo(words, err=True)
    except UsageError as problem:
        raise click.ClickException(str(problem)) from None
    try:
        folder.belong_to(game)
        for each in loaded.warnings:
            click.echo(f"Warning: {each}", err=True)
        click.echo(f"What is saved, and logs: {folder.root}")
        launcher = SingleLauncher(loaded) if single else LocalLauncher()
        with_console = console and importlib.util.find_spec("terrazzo.console.member") is not None
        with noted(folder):
            sys.exit(run_loop(_run(game, loaded, config, folder, launcher, json_log, with_console)))
    except UsageError as problem:
        raise click.ClickException(str(problem)) from None
    finally:
        folder.release()


def _with_options(config: Config, **options: int | None) -> Config:
    given = {name: value for name, value in options.items() if value is not None}
    return msgspec.structs.replace(config, apps=msgspec.structs.replace(config.apps, **given))


async def _run(
    path: Path,
    game: LoadedGame,
    config: Config,
    folder: DataFolder,
    launcher: Launcher,
    json_log: bool,
    with_console: bool,
) -> int:
    cluster = Cluster(
        path, game, config, folder, launcher, say=click.echo, complain=lambda line: click.echo(line, err=True),
        json_log=json_log, with_console=with_console,
    )  # fmt: skip
    for number in SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, cluster.stop)
    return await cluster.run()


@click.command()
@click.argument("game", type=click.Path(path_type=Path))
@click.option("--count", default=10, show_default=True, type=click.IntRange(1), help="How many.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1), help="Processes that share them.")
@click.option("--name", default="walker", show_default=True, help="What they are called, followed by a number.")
@click.option("--data", type=click.Path(path_type=Path), help="The data folder of a world here.")
@click.option("--address", metavar="HOST:PORT", help="Of a world elsewhere: the UDP address of a LoginApp.")
@click.option("--key", metavar="HEX", help="Of a world elsewhere: its public key.")
@click.option("--password", default="walker", show_default=True, help="Of a world elsewhere: what they log in with.")
def bots(
    game: Path,
    count: int,
    jobs: int,
    name: str,
    data: Path | None,
    address: str | None,
    key: str | None,
    password: str,
) -> None:
    """Send bots into a running world of GAME: they walk about and talk until Ctrl-C.

    The world is the one of GAME that runs here (--data names its folder, if there are more), or at --address with
    --key. Here they are bots, which leave nothing in the database; elsewhere they are players like any other.
    Exits with 1, and the reason, when not one of them is let in.
    """
    try:
        loaded = load_game(game)
        if data is not None or (address is None and key is None):
            orders = _bots_here(find_world(data, game), count, name)
        else:
            host, port, key = find_login(address, key)
            orders = Bots(count=count, host=host, udp_port=port, public_key=key, name=name, password=password)
        run_loop(_run_bots(orders, loaded, game, jobs))
    except UsageError as problem:
        raise click.ClickException(str(problem)) from None


def _bots_here(folder: DataFolder, count: int, name: str) -> Bots:
    cluster, password = folder.read_cluster(), folder.bots_password()
    login, name = cluster.login, f"{BOT_PREFIX}{name}"
    host, port, key = login.host, login.udp_port, cluster.public_key
    return Bots(count=count, host=host, udp_port=port, public_key=key, name=name, password=password)


def find_login(address: str | None, key: str | None) -> tuple[str, int, str]:
    """Host, port and public key of a world elsewhere, as the options name them."""
    if address is None or key is None:
        raise UsageError("choose the world: with --data FOLDER, or with both --address HOST:PORT and --key HEX")
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise UsageError(f"{address} is no address: write HOST:PORT")
    try:
        is_key = len(bytes.fromhex(key)) == 32
    except ValueError:
        is_key = False
    if not is_key:
        raise UsageError("--key takes the public key of the cluster: 64 hexadecimal digits, from its cluster.json")
    return host.strip("[]"), int(port), key


async def _run_bots(orders: Bots, game: LoadedGame, path: Path, jobs: int) -> None:
    from terrazzo.runtime.botjobs import BotJob, BotJobs, share_out
    from terrazzo.runtime.bots import BotCrowd  # imports a client and its sockets, which `run` does not need

    crowd: BotCrowd | BotJobs
    if jobs > 1:
        crowd = BotJobs([BotJob(bots=each, game=str(path)) for each in share_out(orders, jobs)])
        await crowd.start()
    else:
        crowd = BotCrowd(orders, game, _quiet, tick_s=0.1)
    for number in SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, crowd.stop)
    click.echo(f"{orders.count} bots are on their way to {orders.host}:{orders.udp_port}; Ctrl-C calls them back.")
    await crowd.run()


def _quiet(event: str, /, **facts: object) -> None:
    """Bots of the command line keep no log."""
