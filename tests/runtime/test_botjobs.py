"""Bots in several processes: how they are shared out, and what becomes of a process if its bots are refused."""

import os
import socket

import pytest

from terrazzo.errors import UsageError
from terrazzo.runtime.botjobs import BotJob, BotJobs, share_out
from terrazzo.runtime.orders import Bots
from terrazzo.wire.client import public_key
from tests.runtime.worlds import PLAZA, play


def bots(count, port=1, key="00"):
    return Bots(count=count, host="127.0.0.1", udp_port=port, public_key=key, name="bot-x", password="p")


def test_bots_are_shared_out_with_numbers_of_their_own():
    assert [(each.first, each.count) for each in share_out(bots(10), 3)] == [(1, 4), (5, 3), (8, 3)]
    assert [(each.first, each.count) for each in share_out(bots(2), 9)] == [(1, 1), (2, 1)]
    assert share_out(bots(5), 1) == [bots(5)]


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def stop_two_processes():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.bind(("127.0.0.1", 0))
        orders = bots(2, deaf.getsockname()[1], public_key(bytes(range(32))).hex())
        jobs = BotJobs([BotJob(bots=each, game=str(PLAZA)) for each in share_out(orders, 2)])
        await jobs.start()
        assert len(set(jobs.pids)) == 2
        jobs.stop()
        await jobs.run()  # processes that are killed since they are slow are no failure
        assert not [pid for pid in jobs.pids if is_running(pid)]


def test_processes_end_when_they_are_stopped():
    play(stop_two_processes())


async def run_without_a_game(folder):
    jobs = BotJobs([BotJob(bots=each, game=str(folder / "nowhere")) for each in share_out(bots(2), 2)])
    await jobs.start()
    with pytest.raises(UsageError, match="no process of bots could go on"):
        await jobs.run()


def test_end_of_all_processes_is_an_error(tmp_path):
    play(run_without_a_game(tmp_path))
